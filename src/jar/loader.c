/* SPDX-License-Identifier: Apache-2.0 */
/* The guarded ELF loader of a jar with an allow-list. */
#include "jar/loader.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

#define PH_MAX	 32
#define PAGE	 4096U
#define LOADER_MAX (16 << 20) /* of a loader; glibc's has a quarter of a megabyte, musl's is its whole libc */

/* The jump to the loader's own entry is filled in. At the entry of a program the stack holds argc, argv, NULL, envp, NULL, and pairs of auxv. */
static const unsigned char stub[] = {
	0x48, 0x8b, 0x0c, 0x24,			/*	mov  (%rsp), %rcx */
	0x48, 0x8d, 0x54, 0xcc, 0x10,		/*	lea  16(%rsp,%rcx,8), %rdx */
	0x48, 0x8b, 0x02,			/* env:	mov  (%rdx), %rax */
	0x48, 0x83, 0xc2, 0x08,			/*	add  $8, %rdx */
	0x48, 0x85, 0xc0,			/*	test %rax, %rax */
	0x74, 0x1d,				/*	jz   aux */
	0x8b, 0x08,				/*	mov  (%rax), %ecx */
	0x81, 0xf9, 'G', 'C', 'O', 'N',		/*	cmp  $"GCON", %ecx */
	0x74, 0x0e,				/*	je   hide */
	0x81, 0xe1, 0xff, 0xff, 0xff, 0x00,	/*	and  $0xffffff, %ecx */
	0x81, 0xf9, 'L', 'D', '_', 0x00,	/*	cmp  $"LD_", %ecx */
	0x75, 0xdc,				/*	jne  env */
	0xc6, 0x00, 'x',			/* hide: movb $'x', (%rax) */
	0xeb, 0xd7,				/*	jmp  env */
	0x48, 0x8b, 0x02,			/* aux:	mov  (%rdx), %rax */
	0x48, 0x85, 0xc0,			/*	test %rax, %rax */
	0x74, 0x1e,				/*	jz   deny */
	0x48, 0x83, 0xf8, AT_BASE,		/*	cmp  $AT_BASE, %rax */
	0x74, 0x06,				/*	je   base */
	0x48, 0x83, 0xc2, 0x10,			/*	add  $16, %rdx */
	0xeb, 0xec,				/*	jmp  aux */
	0x48, 0x83, 0x7a, 0x08, 0x00,		/* base: cmpq $0, 8(%rdx) */
	0x74, 0x0b,				/*	je   deny */
	0x31, 0xc0, 0x31, 0xc9, 0x31, 0xd2,	/*	registers as the kernel leaves them */
#define JUMP 0x54 /* where its distance stands */
	0xe9, 0, 0, 0, 0,			/*	jmp  the loader's own entry */
	0xbf, 0x7f, 0, 0, 0,			/* deny: mov  $127, %edi */
	0xb8, 0xe7, 0, 0, 0,			/*	mov  $231, %eax (exit_group) */
	0x0f, 0x05, 0x0f, 0x0b,			/*	syscall; ud2 */
};

struct plan {
	Elf64_Ehdr h;
	Elf64_Phdr ph[PH_MAX];
	size_t text; /* which of them is the code */
};

static bool make_plan(int fd, struct plan *p)
{
	uint64_t file_end, memory_end;

	if (pread(fd, &p->h, sizeof(p->h), 0) != sizeof(p->h) || memcmp(p->h.e_ident, ELFMAG, SELFMAG) != 0 || p->h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    p->h.e_machine != EM_X86_64 || p->h.e_type != ET_DYN || p->h.e_phentsize != sizeof(p->ph[0]) || !p->h.e_phnum || p->h.e_phnum > PH_MAX ||
	    pread(fd, p->ph, p->h.e_phnum * sizeof(p->ph[0]), (off_t)p->h.e_phoff) != (ssize_t)(p->h.e_phnum * sizeof(p->ph[0])))
		return false;
	for (p->text = 0; p->text < p->h.e_phnum; p->text++) {
		const Elf64_Phdr *t = &p->ph[p->text];

		if (t->p_type == PT_LOAD && t->p_flags & PF_X && p->h.e_entry >= t->p_vaddr && p->h.e_entry < t->p_vaddr + t->p_filesz)
			break;
	}
	if (p->text == p->h.e_phnum || p->ph[p->text].p_filesz != p->ph[p->text].p_memsz)
		return false;
	/* In the same page, and nothing else of the file or of memory there. */
	file_end = p->ph[p->text].p_offset + p->ph[p->text].p_filesz;
	memory_end = p->ph[p->text].p_vaddr + p->ph[p->text].p_memsz;
	if (file_end % PAGE == 0 || file_end % PAGE + sizeof(stub) > PAGE || memory_end % PAGE != file_end % PAGE)
		return false;
	for (size_t i = 0; i < p->h.e_phnum; i++) {
		const Elf64_Phdr *o = &p->ph[i];

		if (i != p->text && o->p_type == PT_LOAD &&
		    ((o->p_offset < file_end + sizeof(stub) && o->p_offset + o->p_filesz > file_end) ||
		     (o->p_vaddr < memory_end + sizeof(stub) && o->p_vaddr + o->p_memsz > memory_end)))
			return false;
	}
	return true;
}

bool loader_can_guard(int fd)
{
	struct plan p;

	return make_plan(fd, &p);
}

static int copy(int in, int out, struct err *e)
{
	static char block[65536];
	struct stat st;
	ssize_t n;

	if (fstat(in, &st) < 0 || st.st_size > LOADER_MAX)
		return err_set(e, ERR_SETUP, "the ELF loader is too large");
	for (off_t at = 0; (n = pread(in, block, sizeof(block), at)) > 0; at += n)
		if (pwrite(out, block, (size_t)n, at) != n)
			return err_sys(e, "copy the ELF loader");
	return n < 0 ? err_sys(e, "read the ELF loader") : 0;
}

int loader_guard(int in, int out, struct err *e)
{
	struct plan p;
	unsigned char code[sizeof(stub)];
	uint64_t file_end, entry;
	int32_t jump;

	if (!make_plan(in, &p))
		return err_set(e, ERR_SETUP, "the ELF loader has no room for its guard");
	file_end = p.ph[p.text].p_offset + p.ph[p.text].p_filesz;
	entry = p.ph[p.text].p_vaddr + p.ph[p.text].p_memsz;
	/* Relative to the instruction behind it. */
	jump = (int32_t)((int64_t)p.h.e_entry - (int64_t)(entry + JUMP + 4));
	memcpy(code, stub, sizeof(stub));
	memcpy(code + JUMP, &jump, sizeof(jump));
	p.h.e_entry = entry;
	p.ph[p.text].p_filesz += sizeof(stub);
	p.ph[p.text].p_memsz += sizeof(stub);
	if (copy(in, out, e) < 0)
		return -1;
	if (pwrite(out, code, sizeof(code), (off_t)file_end) != sizeof(code) || pwrite(out, &p.h, sizeof(p.h), 0) != sizeof(p.h) ||
	    pwrite(out, p.ph, p.h.e_phnum * sizeof(p.ph[0]), (off_t)p.h.e_phoff) != (ssize_t)(p.h.e_phnum * sizeof(p.ph[0])))
		return err_sys(e, "guard the ELF loader");
	return 0;
}
