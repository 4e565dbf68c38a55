/* SPDX-License-Identifier: MIT */
/*
 * What the *.elf files here are built from: three functions, of which two make a frame.
 *
 *	for machine in x86_64 aarch64; do for pointers in omit no-omit; do
 *		clang --target=$machine-linux-gnu -O2 -ffreestanding -fPIC -funwind-tables \
 *			-f$pointers-frame-pointer -c program.c -o program.o
 *		ld.lld -shared --build-id=sha1 --strip-debug program.o -o $machine-$pointers.elf
 *	done; done
 *
 * x86_64-*-stripped.elf are the same after strip, x86_64-*-prologues.elf are built with
 * -fno-asynchronous-unwind-tables in place of -funwind-tables, go.elf with -DGO and rust.elf with -DRUST besides;
 * needed.elf is linked with a library whose -soname is libslow.so.1; runpath.elf too, with
 * -rpath '/opt/none:$ORIGIN/../lib/app'.
 */
#ifdef GO
__attribute__((section(".go.buildinfo"), used)) static const char build_info[] = "\xff Go buildinf:";
#endif
#ifdef RUST
__asm__(".section .comment,\"MS\",@progbits,1\n.asciz \"rustc version 1.80.0\"\n.text");
#endif

int outside(int x);

int first(int x)
{
	return outside(x) + 1;
}

int second(int x)
{
	return first(x) + outside(x);
}

int leaf(int x)
{
	return x * 3;
}
