/* SPDX-License-Identifier: MIT */
/*
 * test_tidy.c - names of frames, and demangling.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../core/demangle.h"
#include "../core/tidy.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

struct name_case {
	const char *in;
	const char *out;	/* NULL: the same */
};

static struct flame_span span(const char *s)
{
	return (struct flame_span){ s, strlen(s) };
}

static void assert_span(struct flame_span got, const char *want, const char *in)
{
	if (got.len != strlen(want) || memcmp(got.s, want, got.len))
		fail_msg("%s: got \"%.*s\", not \"%s\"", in, (int)got.len, got.s, want);
}

/* Of exact size, so that the sanitizer sees a byte too many. */
static char *exact(const char *s, size_t len)
{
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, s, len);
	return copy;
}

static void check_names(const struct name_case *c, size_t nr, enum flame_tidy_language language)
{
	for (; nr--; c++) {
		size_t len = strlen(c->in);
		char *in = exact(c->in, len), *buf = exact(c->in, len);
		const char *want = c->out ? c->out : c->in;
		struct flame_span name = { in, len };

		assert_span(flame_tidy_name(name, language, buf), want, c->in);
		assert_memory_equal(in, c->in, len);
		/* In place. */
		assert_span(flame_tidy_name(name, language, in), want, c->in);
		free(in);
		free(buf);
	}
}

static const struct name_case offset_cases[] = {
	{ "main+0x1f", "main" },
	{ "next::h0a+0xffff018fd5dce000", "next::h0a" },
	{ "f+0xAB", "f" },
	{ "f+0x1+0x2", "f+0x1" },
	{ "f(int)+0x0", "f(int)" },
	{ "main", NULL },
	{ "main+0x", NULL },
	{ "main+0x1g", NULL },
	{ "main+0x1f ", NULL },
	{ "main+1f", NULL },
	{ "main-0x1f", NULL },
	{ "0x1f", NULL },
	{ "+0x1f", NULL },
	{ "x1f", NULL },
	{ "LA$$Lambda+0x00007f12;::run", NULL },
	{ "", NULL },
};

static void test_offset(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offset_cases); i++) {
		const struct name_case *c = &offset_cases[i];

		assert_span(flame_tidy_offset(span(c->in)), c->out ? c->out : c->in, c->in);
	}
}

static const struct name_case native_cases[] = {
	/* Nothing to do. */
	{ "", NULL },
	{ "do_syscall_64", NULL },
	{ "[unknown]", NULL },
	{ "std::vector<int>::size", NULL },
	{ "operator", NULL },
	/* Arguments and what may follow them. */
	{ "main(int, char**)", "main" },
	{ "JavaThread::run()", "JavaThread::run" },
	{ "A::f(int) const", "A::f" },
	{ "A::f(int) const volatile &", "A::f" },
	{ "A::f(int) &&", "A::f" },
	{ "A::f() noexcept", "A::f" },
	{ "A::f() const [clone .cold]", "A::f [clone .cold]" },
	{ "f(int) [clone .isra.0] [clone .cold]", "f [clone .isra.0] [clone .cold]" },
	{ "f[abi:cxx11](int) const", "f[abi:cxx11]" },
	{ "f(int) (.cold)", "f (.cold)" },
	{ "std::ostream::put(char)@plt", "std::ostream::put@plt" },
	{ "A::~A()", "A::~A" },
	/* Something else behind them. */
	{ "f(int) bar", NULL },
	{ "f(int) constx", NULL },
	{ "f(int)::{lambda(char)#1}", NULL },
	{ "f(int)::buffer", NULL },
	{ "f(x: Swift.Int) -> Swift.String", NULL },
	{ "f(int) [cold", NULL },
	/* Parentheses that are no arguments. */
	{ "(anonymous namespace)::Loop::go(int, char const*)",
	  "(anonymous namespace)::Loop::go" },
	{ "a::(anonymous namespace)", NULL },
	{ "(inlined)", NULL },
	{ "vtable (x)", NULL },
	{ "void (*signal(int, void (*)(int)))(int)", NULL },
	{ "f()()", NULL },
	/* Templates. */
	{ "void exec<void (*)()>(void (*)())", "void exec<void (*)()>" },
	{ "void each<void (*)(Job&)>", NULL },
	{ "A<(1<2)>::f(int)", "A<(1<2)>::f" },
	{ "f<(A<1>)(2>1)>(int)", "f<(A<1>)(2>1)>" },
	{ "f<(1<<4), (8>>1)>(int)", "f<(1<<4), (8>>1)>" },
	{ "decltype(auto) twice<1>(int)", "decltype(auto) twice<1>" },
	{ "decltype ((*a)->b()) f<int>(int)", "decltype ((*a)->b()) f<int>" },
	{ "std::function<void (int)>::function", NULL },
	/* Operators. */
	{ "std::function<void (int)>::operator()(unsigned int) const",
	  "std::function<void (int)>::operator()" },
	{ "main::{lambda(int)#1}::operator()(int) const",
	  "main::{lambda(int)#1}::operator()" },
	{ "A::operator()<int>(int) const", "A::operator()<int>" },
	{ "A::operator()", NULL },
	{ "bool operator< <int>(A<int> const&, A<int> const&)", "bool operator< <int>" },
	{ "bool operator<<int>(A<int> const&)", "bool operator<<int>" },
	{ "std::ostream& operator<< <char>(std::ostream&)",
	  "std::ostream& operator<< <char>" },
	{ "operator<<(A, B)", "operator<<" },
	{ "operator<<=(A, B)", "operator<<=" },
	{ "bool operator> <int>(A<int>)", "bool operator> <int>" },
	{ "operator>>(A, B)", "operator>>" },
	{ "operator<=><int>(A, B)", "operator<=><int>" },
	{ "Ptr<Foo>::operator->()", "Ptr<Foo>::operator->" },
	{ "Ptr<Foo>::operator->*(int A::*)", "Ptr<Foo>::operator->*" },
	{ "f<&A::operator->, &A::operator<>(int)", "f<&A::operator->, &A::operator<>" },
	{ "operator new[](unsigned long)", "operator new[]" },
	{ "A::operator[](unsigned long) const", "A::operator[]" },
	{ "A::operator bool() const", "A::operator bool" },
	{ "A::operator=(A&&)", "A::operator=" },
	{ "A::operator,(A&&)", "A::operator," },
	{ "my_operator<int>::f(int)", "my_operator<int>::f" },
	/* Go, Rust, PHP, Zig. */
	{ "main.(*T).Method", NULL },
	{ "main.(*T).Method-fm", NULL },
	{ "main.(*T)", NULL },
	{ "main.Map[go.shape.int].func1", NULL },
	{ "type..eq.struct { F uintptr; R *main.T }",
	  "type..eq.struct { F uintptr: R *main.T }" },
	{ "<impl Fn(A) -> B for T>::call", NULL },
	{ "core::<fn(), ()>::call", NULL },
	{ "app::run::{{closure}}", NULL },
	{ "list.Aligned(u8,null).append", NULL },
	{ "_$LT$a..B$GT$::f::h0123456789abcdef", NULL },
	/* Broken. */
	{ "f(", NULL },
	{ "f)", NULL },
	{ "f(int", NULL },
	{ "f(int))", NULL },
	{ "f<(int>)(", NULL },
	{ "f[int)", NULL },
	{ "f{(int})", NULL },
	{ "f(std::vector<int)", "f" },
	/* Bytes. */
	{ "a;b\tc\x01\x7f\"d'", "a:b?c??\"d'" },
	{ "a;b(int);", "a:b(int):" },
	{ "a;b(int)", "a:b" },
	{ "\xc3\xa9(int)", "\xc3\xa9" },
};

static void test_native(void **state)
{
	(void)state;
	check_names(native_cases, ARRAY_SIZE(native_cases), FLAME_TIDY_NATIVE);
}

static const struct name_case perf_map_cases[] = {
	{ "", NULL },
	{ "Interpreter", NULL },
	{ "Lcom/acme/Cache;::get", "com/acme/Cache:::get" },
	{ "Lcom/acme/Cache;.get", "com/acme/Cache:.get" },
	{ "Lcom/acme/Cache;", "com/acme/Cache:" },
	{ "LMain;::main", "Main:::main" },
	{ "Lcom/acme/Main$$Lambda$14/0x0000000800066840;::run",
	  "com/acme/Main$$Lambda$14/0x0000000800066840:::run" },
	{ "Lcom/acme/Main$$Lambda+0x00007f12;::run",
	  "com/acme/Main$$Lambda+0x00007f12:::run" },
	/* Descriptors. */
	{ "Lcom/acme/A;::f([B)Lcom/acme/B;", "com/acme/A:::f" },
	{ "Lcom/acme/A;.f(IJ[[DLa/B;Z)V", "com/acme/A:.f" },
	{ "Lcom/acme/A;.<init>()V", "com/acme/A:.<init>" },
	{ "com.acme.A.f(I)Z", "com.acme.A.f" },
	{ "f()V", "f" },
	/* Cut by the perf map's limit. */
	{ "Lcom/acme/A;.f(", "com/acme/A:.f" },
	{ "Lcom/acme/A;.f(I[", "com/acme/A:.f" },
	{ "Lcom/acme/A;.f(ILa/", "com/acme/A:.f" },
	{ "Lcom/acme/A;.f(I)", "com/acme/A:.f" },
	{ "Lcom/acme/A;.f(I)La/B", "com/acme/A:.f" },
	{ "Lcom/acme/Cach", "com/acme/Cach" },
	/* No descriptors. */
	{ "Lcom/acme/A;.f(I)V2", "com/acme/A:.f(I)V2" },
	{ "Lcom/acme/A;.f(X)V", "com/acme/A:.f(X)V" },
	{ "Lcom/acme/A;.f(V)V", "com/acme/A:.f(V)V" },
	{ "Lcom/acme/A;.f(L;)V", "com/acme/A:.f(L:)V" },
	{ "com.acme.A.f(I)", NULL },
	{ "f()", NULL },
	{ "()V", NULL },
	{ "f ()V", NULL },
	{ "java.lang.String.indexOf(int, int)", NULL },
	{ "Function:~(anonymous) /srv/b.js:1:1", NULL },
	{ "f(int) const", NULL },
	/* No JVM classes. */
	{ "L", NULL },
	{ "L;::f", "L:::f" },
	{ "L/a;::f", "L/a:::f" },
	{ "La/;::f", "La/:::f" },
	{ "LoadIC", NULL },
	{ "Lib/os.py", NULL },
	{ "LazyCompile:*render /srv/a.js:10:3", NULL },
	{ "Lcom/acme/A;f", "Lcom/acme/A:f" },
	{ "RegExp:[&<>\"';]", "RegExp:[&<>\"':]" },
	{ "py::Proc.name:/srv/my app/ps/__init__.py", NULL },
	{ "py::<module>:/srv/my app/run.py", NULL },
	{ "bar\n", "bar?" },
};

static void test_perf_map(void **state)
{
	(void)state;
	check_names(perf_map_cases, ARRAY_SIZE(perf_map_cases), FLAME_TIDY_PERF_MAP);
}

static const struct name_case rust_cases[] = {
	{ "", NULL },
	{ "main", NULL },
	{ "A::f(int) const", "A::f" },
	{ "a;b", "a:b" },
	{ "app::run::h0123456789abcdef", "app::run" },
	{ "app::run::h0123456789abcdef.llvm.77", "app::run" },
	{ "app::run::h0123456789abcdef.cold", "app::run.cold" },
	{ "app::run::h0123456789abcdef [clone .cold]", "app::run [clone .cold]" },
	{ "app::run::h0123456789abcde", NULL },
	{ "app::run::h0123456789abcdeg", NULL },
	{ "app::run::h0123456789abcdef0", NULL },
	{ "app::h0123456789abcdef::run", NULL },
	{ "_$LT$app..B$u20$as$u20$core..D$GT$::f::h0123456789abcdef", "<app::B as core::D>::f" },
	{ "_$LT$$RF$$u27$a$u20$mut$u20$I$u20$as$u20$x..It$GT$::next",
	  "<&'a mut I as x::It>::next" },
	{ "_$LT$$u5b$T$u5d$$GT$::at", "<[T]>::at" },
	{ "app::_$LT$impl$u20$T$GT$::f", "app::<impl T>::f" },
	{ "app::run::_$u7b$$u7b$closure$u7d$$u7d$", "app::run::{{closure}}" },
	{ "_$LT$M$LT$$LP$K$C$$u20$V$RP$$GT$$GT$::f", "<M<(K, V)>>::f" },
	{ "$BP$const$u20$T$SP$", "*const T@" },
	{ "f$u3b$g", "f:g" },
	{ "f$ue9$$u2603$$u1f525$$C$", "f\xc3\xa9\xe2\x98\x83\xf0\x9f\x94\xa5," },
	/* No escapes. */
	{ "a..b", NULL },
	{ "a$b", NULL },
	{ "f$u1$", NULL },
	{ "f$u7f$", NULL },
	{ "f$ud800$", NULL },
	{ "f$u110000$", NULL },
	{ "f$u0000041$", NULL },
	{ "f$u$", NULL },
	{ "f$uG$", NULL },
	{ "f$LT", NULL },
	{ "f$", NULL },
};

static void test_rust(void **state)
{
	(void)state;
	check_names(rust_cases, ARRAY_SIZE(rust_cases), FLAME_TIDY_RUST);
}

static void test_raw(void **state)
{
	char buf[32];
	struct flame_span name = span("A::f(int) const+0x1f"), got;

	(void)state;
	got = flame_tidy_raw(name, buf);
	assert_ptr_equal(got.s, name.s);
	assert_int_equal(got.len, name.len);
	assert_span(flame_tidy_raw(span("La/B;.f(I)V\n"), buf), "La/B:.f(I)V?", "raw");
	assert_int_equal(flame_tidy_raw((struct flame_span){ NULL, 0 }, buf).len, 0);
}

static const struct {
	const char *in;
	const char *parts[4];
} inlined_cases[] = {
	{ "Lcom/acme/A;::outer->Lcom/acme/B;::mid->Lcom/acme/C;::leaf",
	  { "Lcom/acme/A;::outer", "Lcom/acme/B;::mid", "Lcom/acme/C;::leaf" } },
	{ "La/A;.f(I)V->La/B;.<init>()V", { "La/A;.f(I)V", "La/B;.<init>()V" } },
	{ "a.b.A::f->a.b.B.g", { "a.b.A::f", "a.b.B.g" } },
	{ "La/A;::f-abc->La/B;::g", { "La/A;::f-abc", "La/B;::g" } },
	{ "La/A;::f->La/B;::g(ILa/", { "La/A;::f", "La/B;::g(ILa/" } },
	{ "La/A;::f->Lcom/acm", { "La/A;::f", "Lcom/acm" } },
	{ "La/A;::f->La/B;::g->x y", { "La/A;::f", "La/B;::g->x y" } },
	{ "Interpreter", { "Interpreter" } },
	{ "La/A;::f", { "La/A;::f" } },
	{ "Ptr::operator->", { "Ptr::operator->" } },
	{ "Ptr::operator->()", { "Ptr::operator->()" } },
	{ "Ptr::operator->A::f", { "Ptr::operator->A::f" } },
	{ "(a) -> b", { "(a) -> b" } },
	{ "a.b -> a.c", { "a.b -> a.c" } },
	{ "Function:a=>b /x.js:1", { "Function:a=>b /x.js:1" } },
	{ "LazyCompile:*a->b /x.js:1", { "LazyCompile:*a->b /x.js:1" } },
	{ "a->b", { "a->b" } },
	{ "->", { "->" } },
	{ "->A::f", { "->A::f" } },
	{ "A::f->", { "A::f->" } },
	{ "A::f->::g", { "A::f->::g" } },
	{ "", { NULL } },
};

static void test_inlined(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(inlined_cases); i++) {
		struct flame_span rest = span(inlined_cases[i].in), name;

		for (const char *const *part = inlined_cases[i].parts; *part; part++) {
			assert_true(flame_tidy_next_inlined(&rest, &name));
			assert_span(name, *part, inlined_cases[i].in);
		}
		assert_false(flame_tidy_next_inlined(&rest, &name));
	}
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static size_t mutate(char *out, size_t size, uint64_t *seed)
{
	static const char *const pieces[] = {
		"operator", "operator()", "operator<", "->", "<", ">", "(", ")", "[", "]", "{", "}",
		" const", " &&", "::", ".", ";", "Lcom/a/B;", "(I[La/B;)V", "$LT$", "$u7b$", "$u",
		"_$", "..", "::h0123456789abcdef", "+0x1f", " [clone .cold]", "main", "(int)",
		"@plt", "\xc3\xa9", "\n", "(anonymous namespace)", ".llvm.1", "L", "/", "<init>",
		" ",
	};
	size_t len = 0;

	for (uint32_t nr = next_random(seed) % 12; nr--;) {
		const char *piece = pieces[next_random(seed) % ARRAY_SIZE(pieces)];

		if (len + strlen(piece) > size)
			break;
		memcpy(out + len, piece, strlen(piece));
		len += strlen(piece);
	}
	while (len && next_random(seed) % 3 == 0)
		out[next_random(seed) % len] = (char)next_random(seed);
	return len;
}

static void assert_clean(struct flame_span got, struct flame_span in)
{
	if (got.len > in.len || (in.len && !got.len))
		fail_msg("%.*s: %zu bytes", (int)in.len, in.s, got.len);
	for (size_t i = 0; i < got.len; i++) {
		unsigned char c = (unsigned char)got.s[i];

		if (c < 0x20 || c == 0x7f || c == ';')
			fail_msg("%.*s: byte %u", (int)in.len, in.s, c);
	}
}

static void fuzz_one(const char *text, size_t len)
{
	char *in = exact(text, len), *buf = exact(text, len);
	struct flame_span name = { in, len }, rest = name, part, got;
	size_t sum = 0;

	for (int language = FLAME_TIDY_NATIVE; language <= FLAME_TIDY_RUST; language++) {
		got = flame_tidy_name(name, language, buf);
		assert_clean(got, name);
		assert_memory_equal(in, text, len);
	}
	assert_clean(flame_tidy_raw(name, buf), name);
	got = flame_tidy_offset(name);
	assert_true(got.s == name.s && got.len <= len && (!len || got.len));
	while (flame_tidy_next_inlined(&rest, &part)) {
		assert_true(part.s >= in && part.s + part.len <= in + len);
		sum += part.len;
	}
	assert_true(sum <= len);
	/* In place is the same. */
	for (int language = FLAME_TIDY_NATIVE; language <= FLAME_TIDY_RUST; language++) {
		struct flame_span here = { in, len };

		memcpy(in, text, len);
		got = flame_tidy_name((struct flame_span){ text, len },
				      language, buf);
		here = flame_tidy_name(here, language, in);
		assert_int_equal(got.len, here.len);
		assert_memory_equal(got.s, here.s, got.len);
	}
	free(in);
	free(buf);
}

static void test_fuzz(void **state)
{
	uint64_t seed = 1;
	char text[256];

	(void)state;
	for (int i = 0; i < 200000; i++)
		fuzz_one(text, mutate(text, sizeof(text), &seed));
}

/* Names of a megabyte: linear work takes some milliseconds, quadratic work minutes. */
static void test_linear(void **state)
{
	static const char *const units[] = {
		"<", "(", "()", "f(<", "operator<", "->", "A::f->", "La/B;::f->", "[", "$u",
		"$LT$", "..", "::h", "::h012345678", "_$", "La/", "L", "f(I", " const", "a.", "\n",
		";", "+0x", "-",
	};
	size_t size = 1 << 20;
	char *in = malloc(size), *buf = malloc(size);
	clock_t start = clock();

	(void)state;
	assert_true(in && buf);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct flame_span name = { in, size }, part;

		for (size_t at = 0; at < size; at++)
			in[at] = units[i][at % strlen(units[i])];
		for (int language = FLAME_TIDY_NATIVE; language <= FLAME_TIDY_RUST; language++)
			assert_clean(flame_tidy_name(name, language, buf), name);
		flame_tidy_offset(name);
		while (flame_tidy_next_inlined(&name, &part))
			;
	}
	assert_true((clock() - start) / CLOCKS_PER_SEC < 20);
	free(in);
	free(buf);
}

static void check_demangle(const char *in, const char *want)
{
	char *out = NULL;

	assert_int_equal(flame_demangle(span(in), &out), want != NULL);
	if (want)
		assert_string_equal(out, want);
	else
		assert_null(out);
	free(out);
}

static const struct name_case demangle_cases[] = {
	{ "_ZN1A1fEi", "A::f(int)" },
	{ "__ZN1A1fEi", "A::f(int)" },
	{ "_Z1fv.cold", "f() [clone .cold]" },
	{ "_ZN3app3run17h0123456789abcdefE", "app::run" },
	{ "_RNvCs1_3app3run", "app::run" },
	{ "_RNCNvCs1_3app3run0B3_", "app::run::{closure#0}" },
	{ "", NULL },
	{ "_", NULL },
	{ "_Z", NULL },
	{ "_R", NULL },
	{ "__Z", NULL },
	{ "main", NULL },
	{ "_Read", NULL },
	{ "_ZN1A1f", NULL },
	{ "_Z1fv garbage(", NULL },
};

static void test_demangle(void **state)
{
	(void)state;
	if (!flame_demangle_available())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(demangle_cases); i++)
		check_demangle(demangle_cases[i].in, demangle_cases[i].out);
}

static void test_demangle_bytes(void **state)
{
	char *out;

	(void)state;
	if (!flame_demangle_available())
		skip();
	assert_false(flame_demangle((struct flame_span){ "_ZN1A1\0Ei", 9 }, &out));
	/* Not terminated. */
	assert_true(flame_demangle((struct flame_span){ "_Z1fvXYZ", 5 }, &out));
	assert_string_equal(out, "f()");
	free(out);
}

/* Short names that stand for long ones, deep ones and long ones: refused, and at once. */
static void test_demangle_hostile(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	/* Each tuple consists twice of the one before. */
	static const char rust[] =
		"_RINvC1a1fTllETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX"
		"_ETB15_B15_ETB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b"
		"_B2b_ETB2l_B2l_ETB2v_B2v_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_EE";
	size_t size = FLAME_DEMANGLE_MAX + 2, len;
	char *name = malloc(size), *out;

	(void)state;
	if (!flame_demangle_available()) {
		free(name);
		skip();
	}
	assert_non_null(name);
	check_demangle(rust, NULL);
	len = (size_t)sprintf(name, "_Z1f1AIiiE");
	for (size_t i = 0; i < 30; i++)
		len += (size_t)sprintf(name + len, "S_IS%c_S%c_E", digits[i], digits[i]);
	check_demangle(name, NULL);
	memset(name, 'P', size);
	memcpy(name, "_Z1f", 4);
	for (len = 500; len <= size; len *= 2) {
		name[len - 1] = 'i';
		/* Over 1024 bytes libiberty's own limit ends it. */
		assert_int_equal(flame_demangle((struct flame_span){ name, len }, &out),
				 len <= 1024);
		free(out);
		name[len - 1] = 'P';
	}
	name[size - 1] = 'i';
	assert_false(flame_demangle((struct flame_span){ name, size }, &out));
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offset),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_fuzz),
		cmocka_unit_test(test_linear),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_bytes),
		cmocka_unit_test(test_demangle_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
