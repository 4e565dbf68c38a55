/* SPDX-License-Identifier: MIT */
/*
 * deep.cpp - work in deep and varied stacks, with inlined functions, templates, the C library's sort and system calls.
 *
 *     deep SECONDS    of processor time
 */
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

static volatile uint64_t sink;
static uint64_t state = 88172645463325252ull;

static inline uint64_t any()
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

struct Node {
	virtual ~Node() = default;
	virtual uint64_t value(uint64_t x) = 0;
};

struct Leaf : Node {
	uint64_t factor = any();

	uint64_t value(uint64_t x) override
	{
		for (int i = 0; i < 60; i++)
			x = x * factor + (x >> 7);
		return x;
	}
};

template <int kind> struct Branch : Node {
	std::unique_ptr<Node> left, right;

	uint64_t value(uint64_t x) override
	{
		uint64_t a = left->value(x + kind), b = right->value(x ^ kind);

		sink = sink + a;
		return a * kind + b;
	}
};

static std::unique_ptr<Node> grow(int depth)
{
	auto both = [&](auto branch) -> std::unique_ptr<Node> {
		branch->left = grow(depth - 1);
		branch->right = grow(depth - 1 - static_cast<int>(any() % 2));
		return branch;
	};

	if (depth <= 0 || any() % 17 == 0)
		return std::make_unique<Leaf>();
	switch (any() % 4) {
	case 0: return both(std::make_unique<Branch<1>>());
	case 1: return both(std::make_unique<Branch<2>>());
	case 2: return both(std::make_unique<Branch<3>>());
	default: return both(std::make_unique<Branch<4>>());
	}
}

static uint64_t count()
{
	std::map<std::string, uint64_t> words;

	for (int i = 0; i < 200; i++)
		words[std::to_string(any() % 1000)] += i;
	return words.size();
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *static_cast<const uint64_t *>(a), y = *static_cast<const uint64_t *>(b);

	return x < y ? -1 : x > y;
}

static uint64_t sort()
{
	std::vector<uint64_t> values(600);

	std::generate(values.begin(), values.end(), any);
	if (any() % 2)
		std::sort(values.begin(), values.end(), [](uint64_t a, uint64_t b) { return a > b; });
	else
		qsort(values.data(), values.size(), sizeof(values[0]), by_value);
	return values[3];
}

static uint64_t call()
{
	std::function<uint64_t(uint64_t)> f = [](uint64_t x) { return x * 3; };
	uint64_t sum = 0;

	for (int i = 0; i < 9; i++) {
		auto inner = f;

		f = [inner](uint64_t x) { return inner(x) + 1; };
	}
	for (int i = 0; i < 50; i++)
		sum += f(i);
	return sum;
}

static uint64_t ask()
{
	uint64_t sum = 0;

	for (int i = 0; i < 20; i++)
		sum += static_cast<uint64_t>(access("/proc/self/status", R_OK)) + static_cast<uint64_t>(getppid());
	return sum;
}

static uint64_t work(int depth)
{
	if (depth > 0) {
		uint64_t got = work(depth - 1);

		sink = sink + got;
		return got + 1;
	}
	switch (any() % 5) {
	case 0: return count();
	case 1: return sort();
	case 2: return call();
	case 3: return ask();
	default: return grow(7)->value(any());
	}
}

int main(int argc, char **argv)
{
	double end = argc > 1 ? atof(argv[1]) * CLOCKS_PER_SEC : CLOCKS_PER_SEC;
	auto tree = grow(10);

	for (int i = 0; clock() < end; i++) {
		sink = sink + work(static_cast<int>(any() % 30));
		if (i % 16 == 0)
			sink = sink + tree->value(i);
	}
	return 0;
}
