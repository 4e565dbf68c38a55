/* SPDX-License-Identifier: MIT */
/* fuzz_FORMAT - any bytes as the format FUZZ_FORMAT. The first four are options. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t bits = fuzz_bits(&data, &size, 4);
	struct flame_profile *p = fuzz_read(FUZZ_FORMAT, bits, data, size);

	if (!p)
		return 0;
	fuzz_write_folded(p, bits & 1 << 16, bits & 512 ? FLAME_ALL_KINDS : 0);
	if (bits & 1 << 17)
		fuzz_transform(&p, bits >> 18 & 63);
	fuzz_write_folded(p, false, FLAME_ALL_KINDS);
	fuzz_quality(p);
	fuzz_write_all(p);
	flame_profile_free(p);
	return 0;
}
