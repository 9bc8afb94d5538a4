/* SPDX-License-Identifier: BSD-3-Clause */
/* libdrm_amdgpu.c - one that has two of the functions that we need, and lacks the others, as an older one does. */

int amdgpu_device_initialize(int fd, unsigned int *major, unsigned int *minor, void **device);
int amdgpu_device_deinitialize(void *device);

int amdgpu_device_initialize(int fd, unsigned int *major, unsigned int *minor, void **device)
{
	return -1;
}

int amdgpu_device_deinitialize(void *device)
{
	return -1;
}
