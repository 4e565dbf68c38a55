# SPDX-License-Identifier: MIT
# One file, no recursion but for builds of another kind. `make help` lists the targets.
# O= is where everything is built.
O ?= build
DESTDIR ?=
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec
INCLUDEDIR ?= $(PREFIX)/include/flamegraph
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
VERSION := $(shell sed -n 's/^.define FLAME_VERSION "\(.*\)"/\1/p' core/flame.h)
SONAME := libflamegraph.so.0

CC ?= cc
PKG_CONFIG ?= pkg-config
INSTALL ?= install
CFLAGS ?= -O2 -g
FUZZ_SECONDS ?= 60
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wmissing-prototypes
CPPFLAGS += -D_FILE_OFFSET_BITS=64
LDLIBS := -lz -lm -pthread

have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)
ifeq ($(call have,libzstd),yes)
CPPFLAGS += -DHAVE_ZSTD $(shell $(PKG_CONFIG) --cflags libzstd)
LDLIBS += $(shell $(PKG_CONFIG) --libs libzstd)
endif
ifeq ($(call have,expat),yes)
CPPFLAGS += -DHAVE_EXPAT $(shell $(PKG_CONFIG) --cflags expat)
LDLIBS += $(shell $(PKG_CONFIG) --libs expat)
endif
ifeq ($(call have,libtraceevent),yes)
CPPFLAGS += -DHAVE_LIBTRACEEVENT $(shell $(PKG_CONFIG) --cflags libtraceevent)
LDLIBS += $(shell $(PKG_CONFIG) --libs libtraceevent)
endif
ifneq ($(wildcard /usr/include/libiberty/demangle.h),)
CPPFLAGS += -DHAVE_LIBIBERTY
LDLIBS += -liberty
endif

ifeq ($(call have,libdw libelf),yes)
CPPFLAGS += -DHAVE_LIBDW $(shell $(PKG_CONFIG) --cflags libdw libelf)
LDLIBS += $(shell $(PKG_CONFIG) --libs libdw libelf)
else
WITHOUT += core/dwarf.c core/unwind.c core/cfi.c
endif
ifeq ($(call have,liblzma),yes)
CPPFLAGS += -DHAVE_LZMA $(shell $(PKG_CONFIG) --cflags liblzma)
LDLIBS += $(shell $(PKG_CONFIG) --libs liblzma)
endif
LDLIBS += -ldl

# The babeltrace2 plugin is built where its headers are.
ifeq ($(call have,babeltrace2),yes)
BT2_PLUGIN_DIR ?= $(shell $(PKG_CONFIG) --variable=libdir babeltrace2)/babeltrace2/plugins
BT2_PLUGIN := $(O)/babeltrace2/flame.so
endif

# The plugin of perf script is built where perf's header is, and installed where perf looks for it.
ifneq ($(wildcard /usr/include/perf/perf_dlfilter.h),)
PERF_PLUGIN := $(O)/perf/flame.so
PERF_CORE_DIR := $(or $(shell perf --exec-path 2>/dev/null),$(LIBEXECDIR)/perf-core)
PERF_DLFILTER_DIR ?= $(PERF_CORE_DIR)/dlfilters
PERF_SCRIPT_DIR ?= $(PERF_CORE_DIR)/scripts/flame/bin
endif

# SAN=1: address and undefined behaviour sanitizers. COVER=1: coverage.
ifeq ($(SAN),1)
EXTRA_CFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifeq ($(COVER),1)
EXTRA_CFLAGS := --coverage -O0
endif

COMMON_CFLAGS = -std=gnu11 -fPIC -fno-math-errno -pthread $(WARNINGS) $(CPPFLAGS) $(CFLAGS) $(EXTRA_CFLAGS)
ALL_CFLAGS = $(COMMON_CFLAGS) -fvisibility=hidden

LIB_SRC := $(filter-out $(WITHOUT),$(wildcard core/*.c core/render/*.c converters/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o) $(O)/viewer.o
SHARED_OBJ := $(LIB_SRC:%.c=$(O)/shared/%.o) $(O)/shared/viewer.o
HEADERS := core/flame.h core/converter.h core/input.h
TOOL_OBJ := $(O)/tools/options.o $(O)/tools/tool.o $(O)/tools/replace.o $(O)/tools/memory.o $(O)/tools/drain.o $(O)/tools/progress.o $(O)/tools/write.o $(O)/tools/quality.o $(O)/tools/permission.o
PROGRAMS := fgconv fgrender fgdiff fgreport fgdoctor fgrecord
TESTS := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/test_*.c))
FUZZERS := $(shell sed -n 's/^FORMAT(\(.*\))/fuzz_\1/p' converters/list.h) fuzz_svg fuzz_elf fuzz_raw fuzz_report
SCRIPTS := $(wildcard .ci/* tools/completion tools/libperf tests/run tests/check tests/damage tests/everything tests/docs tests/install \
		      tests/lint tests/cover tests/cli/run tests/doctor/run tests/symbols/run tests/browser/run tests/bench/run tests/bench/formats tests/bench/record tests/bench/diff_noise tests/bench/perf/run tests/fuzz/build \
		      tests/babeltrace2/run tests/common.sh tests/record/*.sh tests/perf-patch plugins/perf/perf-flame plugins/perf/perf-shim plugins/perf/scripts/*)
MAN := fgconv.1 fgrender.1 fgdiff.1 fgreport.1 fgdoctor.1 fgrecord.1 flamegraph.3 flame-formats.7
COMPLETION := $(foreach p,$(PROGRAMS),$(p).bash _$(p) $(p).fish)
ASCIIDOCTOR := $(shell command -v asciidoctor 2>/dev/null)

all: $(PROGRAMS:%=$(O)/%) $(PERF_PLUGIN) $(BT2_PLUGIN) ## build the programs (the default); O=DIR elsewhere, SAN=1 with sanitizers

help: ## print this
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 16

quickstart: ## as root on Debian: install what the build needs, build, draw a recording as flame.svg
	@.ci/quickstart

test: ## as root on Debian: install what the tests need and run all of them
	@.ci/install test
	@.ci/as-user $(MAKE) libperf
	@.ci/as-user $(MAKE) everything

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Objects are rebuilt when the flags change.
$(O)/flags: FORCE
	@mkdir -p $(O)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@

# The viewer's script and style as C arrays.
$(O)/viewer.c: core/render/viewer/flame.js core/render/viewer/flame.css
	@mkdir -p $(@D)
	@{ echo '#include "core/render/viewer.h"'; \
	for f in js css; do \
		echo "const char flame_viewer_$$f[] = {"; \
		od -An -v -tx1 core/render/viewer/flame.$$f | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; \
		echo '0 };'; \
		echo "const size_t flame_viewer_$${f}_len = sizeof(flame_viewer_$$f) - 1;"; \
	done; } > $@

$(O)/viewer.o: $(O)/viewer.c $(O)/flags
	$(CC) $(ALL_CFLAGS) -I. -c -o $@ $<

$(O)/libflamegraph.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/fgdoctor: $(patsubst %.c,$(O)/%.o,$(wildcard tools/doctor_*.c))

$(PROGRAMS:%=$(O)/%): $(O)/%: $(O)/tools/%.o $(TOOL_OBJ) $(O)/libflamegraph.a
	$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(O)/libflamegraph.a $(LIBPERF) $(LDLIBS)

# ---- fgrecord, with libperf where that is ----

LIBPERF_SOURCE ?= $(lastword $(sort $(wildcard /usr/src/linux-source-*.tar.xz)))
ifneq ($(wildcard $(O)/libperf/lib/libperf.a),)
RECORD_BUFFERS := $(O)/tools/record_libperf.o
$(RECORD_BUFFERS): CPPFLAGS += -I$(O)/libperf/include
$(O)/fgrecord: LIBPERF := $(O)/libperf/lib/libperf.a $(O)/libperf/lib/libapi.a
else
RECORD_BUFFERS := $(O)/tools/record_missing.o
endif
RECORD_OBJ := $(patsubst %,$(O)/tools/record_%.o,open reader event target proc output) $(RECORD_BUFFERS)

# The library stands here too: without it, an fgrecord that was linked before would pass for new.
$(O)/fgrecord: $(RECORD_OBJ) $(wildcard $(O)/libperf/lib/libperf.a)

libperf: ## build libperf from the kernel's source (Debian: linux-source), for fgrecord
	@tools/libperf '$(LIBPERF_SOURCE)' '$(abspath $(O))/libperf'

# ---- the babeltrace2 plugin: a host that pushes events ----

BT2_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard plugins/babeltrace2/*.c))

# A dozen calls into babeltrace2 an event: -fno-plt makes them direct. BLOBs and namespaces came with 2.1, with its MIP 1.
BT2_MIP_1 := $(shell $(PKG_CONFIG) --atleast-version=2.1 babeltrace2 2>/dev/null && echo -DHAVE_BT2_MIP_1)
$(BT2_OBJ): CPPFLAGS += -fno-plt -fno-tree-slp-vectorize $(BT2_MIP_1) $(shell $(PKG_CONFIG) --cflags babeltrace2)

# What the library has is the plugin's own: it must not meet another library's symbols in babeltrace2.
$(O)/babeltrace2/flame.so: $(BT2_OBJ) $(O)/tools/replace.o $(O)/libflamegraph.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ \
		$(shell $(PKG_CONFIG) --libs babeltrace2) $(LDLIBS)

# ---- the plugin of perf script ----

PERF_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard plugins/perf/*.c)) $(TOOL_OBJ)

$(O)/perf/flame.so: $(PERF_OBJ) $(O)/libflamegraph.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(LDLIBS)

# ---- the library for others: it exports what the installed headers declare ----

library: $(O)/libflamegraph.a $(O)/$(SONAME) $(O)/flamegraph.pc ## build the static and the shared library

$(O)/shared/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(COMMON_CFLAGS) -fno-semantic-interposition -MMD -MP -c -o $@ $<

$(O)/shared/viewer.o: $(O)/viewer.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(COMMON_CFLAGS) -I. -c -o $@ $<

$(O)/libflamegraph.map: $(HEADERS)
	@mkdir -p $(@D)
	@{ echo '{ global:'; grep -oh '\bflame_[a-z0-9_]*(' $(HEADERS) | sort -u | tr '(' ';'; \
	echo 'flame_converters; local: *; };'; } > $@

$(O)/$(SONAME): $(SHARED_OBJ) $(O)/libflamegraph.map
	$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) \
		-Wl,--version-script=$(O)/libflamegraph.map -o $@ $(SHARED_OBJ) $(LDLIBS)

$(O)/flamegraph.pc: Makefile $(O)/paths
	@{ echo 'prefix=$(PREFIX)'; echo 'libdir=$(LIBDIR)'; echo 'includedir=$(INCLUDEDIR)'; echo; \
	echo 'Name: flamegraph'; echo 'Description: reads the output of profilers into one model of stacks'; \
	echo 'Version: $(VERSION)'; echo 'Cflags: -I$${includedir}'; \
	echo 'Libs: -L$${libdir} -lflamegraph'; echo 'Libs.private: $(LDLIBS)'; } > $@

$(O)/paths: FORCE
	@mkdir -p $(O)
	@echo '$(PREFIX) $(LIBDIR) $(INCLUDEDIR)' | cmp -s - $@ || echo '$(PREFIX) $(LIBDIR) $(INCLUDEDIR)' > $@

# ---- documents ----

man: $(MAN:%=$(O)/man/%) ## build the man pages (asciidoctor)

$(O)/man/%: Documentation/%.adoc core/flame.h
	@mkdir -p $(@D)
	$(or $(ASCIIDOCTOR),asciidoctor) -b manpage --failure-level WARN -a reproducible -a manmanual=fgtools \
		-a mansource='fgtools $(VERSION)' -o $@ $<

completion: $(COMPLETION:%=$(O)/completion/%) ## write the completions of bash, zsh and fish

$(O)/completion/%.bash: $(O)/% tools/completion
	@mkdir -p $(@D)
	tools/completion bash $< > $@
$(O)/completion/_%: $(O)/% tools/completion
	@mkdir -p $(@D)
	tools/completion zsh $< > $@
$(O)/completion/%.fish: $(O)/% tools/completion
	@mkdir -p $(@D)
	tools/completion fish $< > $@

# ---- installation ----

# The plugins' places belong to perf and babeltrace2: a user who installs below a directory of their own may not
# write there. $(1): directories, $(2): what sets them.
may_install = may=yes; for d in $(1); do \
	mkdir -p $(DESTDIR)$$d 2>/dev/null && [ -w $(DESTDIR)$$d ] || { may=no; break; }; done; \
	[ $$may = yes ] || { echo "A plugin is skipped: $(DESTDIR)$$d cannot be written to ($(2)=DIR puts it elsewhere)."; false; }

install: all library $(O)/flamegraph.pc completion $(if $(ASCIIDOCTOR),man) ## install below $(DESTDIR)$(PREFIX)
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	$(INSTALL) -d $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	$(INSTALL) -m 755 $(PROGRAMS:%=$(O)/%) $(DESTDIR)$(BINDIR)
	$(INSTALL) -m 644 $(O)/libflamegraph.a $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 644 $(O)/$(SONAME) $(DESTDIR)$(LIBDIR)/libflamegraph.so.$(VERSION)
	ln -sf libflamegraph.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libflamegraph.so
	$(INSTALL) -m 644 $(O)/flamegraph.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)
	$(INSTALL) -m 755 plugins/perf/perf-flame $(DESTDIR)$(BINDIR)
	$(INSTALL) -D -m 755 plugins/perf/perf-shim $(DESTDIR)$(LIBEXECDIR)/fgtools/perf
ifneq ($(PERF_PLUGIN),)
	@$(call may_install,$(PERF_DLFILTER_DIR) $(PERF_SCRIPT_DIR),PERF_CORE_DIR) || exit 0; set -ex; \
	$(INSTALL) -m 644 $(PERF_PLUGIN) $(DESTDIR)$(PERF_DLFILTER_DIR)/flame.so; \
	$(INSTALL) -m 755 plugins/perf/scripts/flame-record plugins/perf/scripts/flame-report $(DESTDIR)$(PERF_SCRIPT_DIR)
endif
	for p in $(PROGRAMS); do \
		$(INSTALL) -m 644 $(O)/completion/$$p.bash $(DESTDIR)$(BASHDIR)/$$p && \
		$(INSTALL) -m 644 $(O)/completion/_$$p $(DESTDIR)$(ZSHDIR) && \
		$(INSTALL) -m 644 $(O)/completion/$$p.fish $(DESTDIR)$(FISHDIR) || exit 1; done
ifneq ($(BT2_PLUGIN),)
	@$(call may_install,$(BT2_PLUGIN_DIR),BT2_PLUGIN_DIR) || exit 0; set -ex; \
	$(INSTALL) -m 755 $(BT2_PLUGIN) $(DESTDIR)$(BT2_PLUGIN_DIR)/flame.so
endif
ifneq ($(ASCIIDOCTOR),)
	for m in $(MAN); do \
		$(INSTALL) -D -m 644 $(O)/man/$$m $(DESTDIR)$(MANDIR)/man$${m##*.}/$$m || exit 1; done
else
	@echo 'There is no asciidoctor: the man pages are skipped.'
endif

uninstall: ## remove what install put there
	rm -f $(PROGRAMS:%=$(DESTDIR)$(BINDIR)/%) $(DESTDIR)$(LIBDIR)/libflamegraph.a
	rm -f $(DESTDIR)$(LIBDIR)/libflamegraph.so $(DESTDIR)$(LIBDIR)/$(SONAME)
	rm -f $(DESTDIR)$(LIBDIR)/libflamegraph.so.$(VERSION) $(DESTDIR)$(LIBDIR)/pkgconfig/flamegraph.pc
	rm -f $(foreach h,$(HEADERS),$(DESTDIR)$(INCLUDEDIR)/$(notdir $(h)))
	rm -f $(PROGRAMS:%=$(DESTDIR)$(BASHDIR)/%) $(PROGRAMS:%=$(DESTDIR)$(ZSHDIR)/_%)
	rm -f $(PROGRAMS:%=$(DESTDIR)$(FISHDIR)/%.fish)
	rm -f $(foreach m,$(MAN),$(DESTDIR)$(MANDIR)/man$(patsubst .%,%,$(suffix $(m)))/$(m))
	rm -f $(DESTDIR)$(BINDIR)/perf-flame $(DESTDIR)$(LIBEXECDIR)/fgtools/perf
	-rmdir $(DESTDIR)$(LIBEXECDIR)/fgtools 2>/dev/null
ifneq ($(PERF_PLUGIN),)
	[ ! -w $(DESTDIR)$(PERF_DLFILTER_DIR) ] || rm -f $(DESTDIR)$(PERF_DLFILTER_DIR)/flame.so \
		$(DESTDIR)$(PERF_SCRIPT_DIR)/flame-record $(DESTDIR)$(PERF_SCRIPT_DIR)/flame-report
	-rmdir $(DESTDIR)$(PERF_SCRIPT_DIR) $(dir $(DESTDIR)$(PERF_SCRIPT_DIR)) 2>/dev/null
endif
ifneq ($(BT2_PLUGIN),)
	[ ! -w $(DESTDIR)$(BT2_PLUGIN_DIR) ] || rm -f $(DESTDIR)$(BT2_PLUGIN_DIR)/flame.so
endif
	-rmdir $(DESTDIR)$(INCLUDEDIR) 2>/dev/null

# ---- tests ----

tests: $(TESTS) ## build the unit tests (cmocka)

$(TESTS): $(O)/tests/%: $(O)/tests/%.o $(O)/libflamegraph.a
	$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

$(O)/mutate: $(O)/tests/fuzz/mutate.o $(O)/tests/fuzz/fuzz.o $(O)/libflamegraph.a
	$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

check: all tests $(O)/mutate library completion $(if $(ASCIIDOCTOR),man) ## run the tests that need no root and no network
	@CC='$(CC)' CFLAGS='$(CFLAGS) $(EXTRA_CFLAGS)' MAKE='$(MAKE)' tests/check $(O)

check-browser: all ## test the picture in a browser (node, chromium)
	@tests/browser/run $(O)/fgrender

$(O)/findings: $(O)/tests/record/truth/findings.o $(O)/libflamegraph.a
	$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

check-truth: all $(O)/findings ## record programs of which the truth is known, and compare
	@tests/record/truth.sh $(O)

check-record: all $(O)/findings ## record with the profilers that are here and compare
	@for t in tests/record/*.sh; do "$$t" $(O) || failed=1; done; exit $${failed:-0}

check-perf-patch: all ## build perf from Debian's linux-source with perf-script-so.patch and test perf script -s flame.so (1 GB)
	@tests/perf-patch $(O)

check-valgrind: all tests ## run the unit tests and the programs under valgrind
	@VALGRIND=1 tests/check $(O)

lint: ## clang-tidy, cppcheck, shellcheck, and the warnings of gcc and clang
	@FLAGS='-std=gnu11 $(WARNINGS) $(CPPFLAGS) -DFUZZ_FORMAT="perf"' MAKE='$(MAKE)' O='$(O)' tests/lint $(SCRIPTS)

cover: ## run check with coverage and print it by file
	@$(MAKE) O=$(O)-cover COVER=1 CFLAGS=-g check
	@tests/cover $(O)-cover

$(O)/generate $(O)/measure: $(O)/%: tests/bench/%.c $(O)/flags
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $<

bench: all $(O)/generate $(O)/measure ## measure speed and memory (2.2 GB in BENCH_DIR); BENCH=--quick for less
	@tests/bench/run --bin $(O) --dir $(or $(BENCH_DIR),$(or $(TMPDIR),/tmp)) $(BENCH)

bench-ctf: all ## measure the babeltrace2 plugin beside sink.utils.dummy (1.4 GB in BENCH_DIR)
	@python3 tests/bench/babeltrace2.py $(O) $(or $(BENCH_DIR),$(or $(TMPDIR),/tmp))

bench-perf: all $(O)/measure ## the same on recordings of perf, against perf itself (1.3 GB in BENCH_DIR); BENCH=--quick for less
	@tests/bench/perf/run $(O) $(or $(BENCH_DIR),$(or $(TMPDIR),/tmp)) $(BENCH)

fuzz: $(FUZZERS:%=run_%) ## fuzz each reader and writer for FUZZ_SECONDS (60) with clang; with -j2 two at a time

fuzzers:
	@mkdir -p $(O)/fuzz
	@FUZZ_TARGETS='$(FUZZERS)' MAKE='$(MAKE)' tests/fuzz/build $(O)/fuzz

$(FUZZERS:%=run_%): run_%: fuzzers
	@mkdir -p $(O)/fuzz/corpus-$*
	@$(O)/fuzz/$* -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(O)/fuzz/ -print_final_stats=1 \
		$(O)/fuzz/corpus-$* $(wildcard tests/fuzz/seeds) > $(O)/fuzz/$*.log 2>&1 || \
		{ tail -n 40 $(O)/fuzz/$*.log; exit 1; }
	@echo "$*: $(FUZZ_SECONDS) s, $$(sed -n 's/^stat::number_of_executed_units: */runs: /p' $(O)/fuzz/$*.log)"

everything: ## run all tests, also those that need a browser, a profiler or clang
	@MAKE='$(MAKE)' O='$(O)' tests/everything

clean: ## remove what was built
	rm -rf $(O) $(O)-san $(O)-cover $(O)-gcc $(O)-clang

FORCE:
.PHONY: all help quickstart libperf test library man completion install uninstall tests check check-browser check-record \
	check-perf-patch check-truth check-valgrind lint cover bench bench-ctf bench-perf fuzz fuzzers $(FUZZERS:%=run_%) everything clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

-include $(shell find $(O) -name perf-patch -prune -o -name '*.d' -type f -print 2>/dev/null)
