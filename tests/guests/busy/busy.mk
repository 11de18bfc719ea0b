# SPDX-License-Identifier: GPL-2.0-or-later
# The busy guest: the lab's Linux kernel, and one program as /init. lab.mk includes this file. Tests
# make the initramfs and the config (busy_guest in tests/lab/checks). The program is built without
# $(CFLAGS), which may contain sanitizers.

busy_dir = tests/guests/busy

$(busy_dir)/busy: $(busy_dir)/busy.c
	$(AM_V_GEN)$(MKDIR_P) $(busy_dir) && $(CC) -std=gnu11 -O2 -Wall -Wextra \
		-fno-omit-frame-pointer -static -pthread -Wl,--build-id -o $@ $(srcdir)/$(busy_dir)/busy.c

# Another program, which switches tasks (tests/lab/switch-long.test).
$(busy_dir)/ring: $(busy_dir)/ring.c
	$(AM_V_GEN)$(MKDIR_P) $(busy_dir) && $(CC) -std=gnu11 -O2 -Wall -Wextra \
		-fno-omit-frame-pointer -static -Wl,--build-id -o $@ $(srcdir)/$(busy_dir)/ring.c

# busy without symbols, which tests put into the guest under another name, and the debug file that
# has them: laid out for --debug-dir and as a server of debuginfod has it. lib has libdebuginfod and
# what it needs, if this machine has it: dom0 has none.
$(busy_dir)/stripped: $(busy_dir)/busy
	$(AM_V_GEN)rm -rf $@ && $(MKDIR_P) $@/lib && cd $@ && $(OBJCOPY) --strip-all ../busy init && \
		id=`readelf -n init | sed -n 's/.*Build ID: //p'` && name=`echo $$id | cut -c3-` && \
		folder=debug/.build-id/`echo $$id | cut -c1-2` && $(MKDIR_P) $$folder www/buildid/$$id && \
		$(OBJCOPY) --only-keep-debug ../busy $$folder/$$name.debug && \
		ln $$folder/$$name.debug www/buildid/$$id/debuginfo && \
		file=`/sbin/ldconfig -p | sed -n 's/.*libdebuginfod.so.1 .*x86-64.*=> //p'` && \
		if [ -n "$$file" ]; then \
			cp -L $$file `ldd $$file | sed -n 's/.* => \(.*\) (.*/\1/p'` lib; \
		fi

noinst_DATA += $(busy_dir)/busy $(busy_dir)/ring $(busy_dir)/stripped
CLEANFILES += $(busy_dir)/busy $(busy_dir)/ring

mostlyclean-local:
	rm -rf $(busy_dir)/stripped
EXTRA_DIST += $(busy_dir)/busy.c $(busy_dir)/ring.c $(busy_dir)/busy.mk
