# SPDX-License-Identifier: MIT
# One file, no recursion. `make help` lists the targets. O= is where everything is built.
O ?= build
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
VERSION := 0.1.0

CC ?= cc
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wmissing-prototypes
CPPFLAGS += -D_FILE_OFFSET_BITS=64
LDLIBS := -lz -lm -pthread

have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)
ifeq ($(call have,libzstd),yes)
CPPFLAGS += -DHAVE_ZSTD $(shell $(PKG_CONFIG) --cflags libzstd)
LDLIBS += $(shell $(PKG_CONFIG) --libs libzstd)
endif
ifneq ($(wildcard /usr/include/libiberty/demangle.h),)
CPPFLAGS += -DHAVE_LIBIBERTY
LDLIBS += -liberty
endif

# SAN=1: address and undefined behaviour sanitizers. COVER=1: coverage.
ifeq ($(SAN),1)
CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ifeq ($(COVER),1)
CFLAGS += --coverage -O0
endif

ALL_CFLAGS = -std=gnu11 -fPIC -fvisibility=hidden -pthread $(WARNINGS) $(CPPFLAGS) $(CFLAGS)

LIB_SRC := $(wildcard core/*.c core/render/*.c converters/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o) $(O)/viewer.o
TOOL_OBJ := $(O)/tools/options.o $(O)/tools/tool.o
PROGRAMS := fgconv fgrender fgdiff
TESTS := $(patsubst tests/test_%.c,%,$(wildcard tests/test_*.c))

all: $(PROGRAMS:%=$(O)/%)

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

$(PROGRAMS:%=$(O)/%): $(O)/%: $(O)/tools/%.o $(TOOL_OBJ) $(O)/libflamegraph.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

clean:
	rm -rf $(O)

FORCE:
.PHONY: all clean FORCE
.DELETE_ON_ERROR:

-include $(shell find $(O) -name '*.d' 2>/dev/null)
