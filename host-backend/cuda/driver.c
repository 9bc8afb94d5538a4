/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.c - libcuda.so.1, loaded when the first card is opened.
 *
 * Not linked: a host without an NVIDIA GPU does not have it. It stays loaded until the process ends, and its threads and
 * open nodes stay with it: cuInit() can be done once per process, before the sandbox closes, and a process that has done it
 * must not fork.
 *
 * What its environment says is decided here. The cache of compiled code in the user's home is off: the sandbox would refuse
 * it, and nothing of one guest is to be found by the next. Modules are loaded whole when they are loaded, not when their
 * first kernel runs. Cards are numbered by their place on the bus, so that a number means the same card again.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cuda/driver.h"

#define FAIL(error, code, ...) g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_##code, __VA_ARGS__)

const char *gp_cuda_text(const struct gp_cuda *cuda, CUresult error, char text[160])
{
	const char *name = NULL, *says = NULL;

	if (cuda->cuGetErrorName(error, &name) || !name)
		name = "an unknown error";
	if (cuda->cuGetErrorString(error, &says) || !says)
		says = "the driver does not say what";
	snprintf(text, 160, "%s (%s, %d)", says, name, error);
	return text;
}

/* look_up() - @to: a function pointer. Data and functions have addresses alike wherever there is dlsym(). */
static bool look_up(void *library, const char *name, void *to)
{
	void *symbol = dlsym(library, name);

	memcpy(to, &symbol, sizeof(symbol));
	return symbol;
}

static bool find_functions(struct gp_cuda *cuda, void *library, GError **error)
{
	const char *missing = NULL;

#define GP_CUDA_LOOK_UP(name, args)                            \
	if (!look_up(library, #name, &cuda->name) && !missing) \
		missing = #name;
	GP_CUDA_CALLS(GP_CUDA_LOOK_UP)
#undef GP_CUDA_LOOK_UP
	if (!missing)
		return true;
	FAIL(error, NOSYS, "the NVIDIA driver is too old: it has no %s (525 or newer is wanted)", missing);
	return false;
}

static bool initialise(struct gp_cuda *cuda, GError **error)
{
	CUresult ret;
	char text[160];

	/* Asked first: it is the one that answers without a card. */
	if (!cuda->cuDriverGetVersion(&cuda->version) && cuda->version < GP_CUDA_WANT) {
		FAIL(error, NOSYS,
		     "the NVIDIA driver is too old: it has CUDA %d.%d, %d.0 or newer is wanted (525)",
		     cuda->version / 1000, cuda->version % 1000 / 10, GP_CUDA_WANT / 1000);
		return false;
	}
	ret = cuda->cuInit(0);
	if (!ret)
		return true;
	if (ret == CUDA_ERROR_NO_DEVICE)
		FAIL(error, NODEV, "there is no NVIDIA GPU that the driver can use");
	else
		FAIL(error, IO, "the NVIDIA driver does not start: %s", gp_cuda_text(cuda, ret, text));
	return false;
}

const struct gp_cuda *gp_cuda_load(GError **error)
{
	static GMutex lock;
	static struct gp_cuda cuda;
	static bool loaded;
	void *library;

	g_mutex_lock(&lock);
	if (!loaded) {
		g_setenv("CUDA_CACHE_DISABLE", "1", TRUE);
		g_setenv("CUDA_MODULE_LOADING", "EAGER", TRUE);
		g_setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", TRUE);
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		if (!library)
			FAIL(error, NOENT, "no NVIDIA driver: %s", dlerror());
		else
			loaded = find_functions(&cuda, library, error) && initialise(&cuda, error);
	}
	g_mutex_unlock(&lock);
	return loaded ? &cuda : NULL;
}
