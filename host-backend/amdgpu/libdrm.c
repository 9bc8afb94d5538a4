/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libdrm.c - libdrm_amdgpu and libdrm, loaded when the first card is opened.
 *
 * Not linked: a host without an AMD GPU needs neither, and one binary makes use of what a newer libdrm has
 * (amdgpu_device_initialize2, 2.4.123) and runs with 2.4.114 too. They stay loaded until the process ends.
 */
#include <dlfcn.h>
#include <string.h>
#include "amdgpu/private.h"

static void *load(const char *name, GError **error)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no libdrm: %s", dlerror());
	return library;
}

/* look_up() - @to: a function pointer. Data and functions have addresses alike wherever there is dlsym(). */
static bool look_up(void *library, const char *name, void *to)
{
	void *symbol = dlsym(library, name);

	memcpy(to, &symbol, sizeof(symbol));
	return symbol;
}

const struct gp_drm *gp_drm_load(GError **error)
{
	static GMutex lock;
	static struct gp_drm drm;
	static bool loaded;
	const char *missing = NULL;
	void *amdgpu, *core;

	g_mutex_lock(&lock);
	if (loaded)
		goto out;
	amdgpu = load("libdrm_amdgpu.so.1", error);
	core = amdgpu ? load("libdrm.so.2", error) : NULL;
	if (!core)
		goto out;
#define GP_DRM_AMDGPU(name)                                 \
	if (!look_up(amdgpu, #name, &drm.name) && !missing) \
		missing = #name;
#define GP_DRM_CORE(name)                                 \
	if (!look_up(core, #name, &drm.name) && !missing) \
		missing = #name;
	GP_DRM_AMDGPU_CALLS(GP_DRM_AMDGPU)
	GP_DRM_CORE_CALLS(GP_DRM_CORE)
	look_up(amdgpu, "amdgpu_device_initialize2", &drm.amdgpu_device_initialize2);
	if (missing)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSYS,
			    "libdrm is too old: it has no %s (2.4.114 or newer is wanted)", missing);
	else
		loaded = true;

out:
	g_mutex_unlock(&lock);
	return loaded ? &drm : NULL;
}
