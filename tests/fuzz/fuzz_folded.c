/* SPDX-License-Identifier: MIT */
/* fuzz_folded - any bytes as folded text. The first three are options. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t bits = fuzz_bits(&data, &size, 3);
	struct flame_profile *p = fuzz_read("folded", bits, data, size);

	if (!p)
		return 0;
	fuzz_write_folded(p, bits & 1 << 16, bits & 512 ? FLAME_ALL_KINDS : 0);
	if (bits & 1 << 17)
		fuzz_transform(&p, bits >> 18);
	fuzz_write_folded(p, false, FLAME_ALL_KINDS);
	flame_profile_free(p);
	return 0;
}
