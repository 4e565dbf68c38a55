/* SPDX-License-Identifier: MIT */
/* fgdoctor - can this be profiled, and how? It looks, and changes nothing. */
#include "doctor.h"
#include "options.h"

int main(int argc, char **argv)
{
	struct tool tool = {
		.program = PROGRAM_DOCTOR,
		.name = "fgdoctor",
		.usage = "fgdoctor [OPTIONS] [PID | BINARY | COMMAND [ARGUMENT...]]",
		.about = "Tell what can be profiled here and which commands do it: what the host allows, which runtime\n"
			 "the target has, whether it has frame pointers and symbols. Nothing is changed.",
		.record = { .frequency = 99, .duration = 30 },
	};
	struct doctor doctor = { .root = "" };
	int status = tool_parse(&tool, argc, argv);
	struct tool_output out;
	bool ready;

	if (status >= 0)
		return status;
	doctor.root = tool.root ? tool.root : "";
	doctor.frequency = (unsigned int)tool.record.frequency;
	doctor.seconds = (unsigned int)tool.record.duration;
	if (tool_open_output(&tool, &out))
		return 1;
	doctor_host(&doctor);
	if (tool.record.command && tool.record.command[0])
		doctor_target(&doctor, tool.record.command[0], tool.record.command);
	doctor_plan(&doctor);
	if (tool.json)
		doctor_print_json(&doctor, out.file);
	else
		doctor_print_text(&doctor, out.file);
	if (doctor.no_memory)
		tool_message(&tool, "error", "there is not enough memory: parts of the report are missing");
	ready = doctor_is_ready(&doctor) && !doctor.no_memory;
	doctor_release(&doctor);
	status = tool_close_output(&tool, &out, 0);
	return status ? status : !ready;
}
