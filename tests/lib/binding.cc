// SPDX-License-Identifier: BSD-3-Clause
/*
 * binding.cc - libgpgpu from C++: its header is C++ too, its names are not mangled, and its structures have the sizes that programs
 * were compiled with. A size that changes is another ABI: that takes a new name, not a new number here.
 *
 *	binding OBJECT
 */
#include <stdio.h>
#include <string.h>

#include "gpgpu.h"

#define SIZE_IS(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)

SIZE_IS(gpgpu_result, 16);
SIZE_IS(gpgpu_device_info, 108);
SIZE_IS(gpgpu_caps, 208);
SIZE_IS(gpgpu_stats, 128);
SIZE_IS(gpgpu_map_info, 48);
SIZE_IS(gpgpu_declared, 24);
SIZE_IS(gpgpu_program_desc, 48);
SIZE_IS(gpgpu_program_info, 48);
SIZE_IS(gpgpu_arg_info, 24);
SIZE_IS(gpgpu_source, 40);
SIZE_IS(gpgpu_submit, 48);
SIZE_IS(gpgpu_arg, 32);
SIZE_IS(gpgpu_packet, 16);
SIZE_IS(gpgpu_packet_result, 24);
SIZE_IS(gpgpu_job_result, 96);
SIZE_IS(gpgpu_job_times, 32);

namespace
{

class Object
{
      public:
	explicit Object(const char *path)
	{
		gpgpu_object_open(path, &obj_);
	}
	~Object()
	{
		gpgpu_object_close(obj_);
	}
	struct gpgpu_program *program(const char *name) const
	{
		return obj_ ? gpgpu_object_program(obj_, name) : nullptr;
	}

      private:
	struct gpgpu_object *obj_ = nullptr;
};

} // namespace

int main(int argc, char **argv)
{
	struct gpgpu_device *dev = nullptr;
	struct gpgpu_arg args[3] = {};
	Object object(argc > 1 ? argv[1] : "");
	struct gpgpu_program *saxpy = object.program("saxpy");

	if (!saxpy || gpgpu_arg_set_int(saxpy, args, "a", 7) ||
	    args[gpgpu_program_arg_index(saxpy, "a")].value != 7) {
		fprintf(stderr, "%s\n", gpgpu_error_message());
		return 1;
	}
	if (!gpgpu_open("/nowhere", &dev) || !strstr(gpgpu_error_message(), "No such file"))
		return 1;
	puts("saxpy from C++");
	return 0;
}
