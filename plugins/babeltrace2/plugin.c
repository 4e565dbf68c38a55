// SPDX-License-Identifier: MIT
/*
 * plugin.c - what babeltrace2 finds when it loads the plugin: sink.flame.svg, sink.flame.folded and
 * sink.flame.report.
 */
#include "plugin.h"

#include <string.h>

#include "../../core/flame.h"

/* babeltrace2 finds a plugin by symbols that its 2.0 headers do not export themselves. */
#pragma GCC visibility push(default)
BT_PLUGIN_MODULE();
#pragma GCC visibility pop

#define HELP \
	"Draws the stacks of a trace as a flame graph. It knows function tracing (lttng-ust-cyg-profile),\n" \
	"stacks of events (LTTng's callstack contexts, perf's callchains), time off the processor\n" \
	"(sched_switch), and pairs of events that begin and end something; where a trace has several,\n" \
	"a note lists the rest and the parameter `event` chooses.\n" \
	"\n" \
	"    babeltrace2 TRACE --component=sink.flame.svg --params='output=\"flame.svg\"'\n" \
	"    babeltrace2 TRACE --component=sink.flame.svg --params='output=\"a.svg\",folded=\"a.folded\",root=\"tid\"'\n" \
	"\n" \
	"Parameters:\n" \
	"\n"

BT_PLUGIN(flame);
BT_PLUGIN_DESCRIPTION("Flame graphs of traces");
BT_PLUGIN_AUTHOR("The fgtools authors");
BT_PLUGIN_LICENSE("MIT");
BT_PLUGIN_VERSION(0, 1, 0, NULL);

static bt_component_class_initialize_method_status init_svg(bt_self_component_sink *self,
							    bt_self_component_sink_configuration *configuration,
							    const bt_value *params, void *data)
{
	(void)configuration;
	(void)data;
	return flame_sink_initialize(self, params, WRITER_SVG);
}

static bt_component_class_initialize_method_status init_folded(bt_self_component_sink *self,
							       bt_self_component_sink_configuration *configuration,
							       const bt_value *params, void *data)
{
	(void)configuration;
	(void)data;
	return flame_sink_initialize(self, params, WRITER_FOLDED);
}

static bt_component_class_initialize_method_status init_report(bt_self_component_sink *self,
							       bt_self_component_sink_configuration *configuration,
							       const bt_value *params, void *data)
{
	(void)configuration;
	(void)data;
	return flame_sink_initialize(self, params, WRITER_REPORT);
}

static bt_component_class_get_supported_mip_versions_method_status
get_mip_versions(bt_self_component_class_sink *self, const bt_value *params, void *data, bt_logging_level level,
		 bt_integer_range_set_unsigned *versions)
{
	(void)self;
	(void)params;
	(void)data;
	(void)level;
	return bt_integer_range_set_unsigned_add_range(versions, 0, 1) == BT_INTEGER_RANGE_SET_ADD_RANGE_STATUS_OK ?
	       BT_COMPONENT_CLASS_GET_SUPPORTED_MIP_VERSIONS_METHOD_STATUS_OK :
	       BT_COMPONENT_CLASS_GET_SUPPORTED_MIP_VERSIONS_METHOD_STATUS_MEMORY_ERROR;
}

/* ---- query ---- */

struct listing {
	bt_value *map;
	bool failed;
};

static void list_param(void *data, const char *name, const char *type, const char *help)
{
	struct listing *l = data;
	bt_value *entry = NULL;

	l->failed |= bt_value_map_insert_empty_map_entry(l->map, name, &entry) != BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
		     bt_value_map_insert_string_entry(entry, "type", type) != BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
		     bt_value_map_insert_string_entry(entry, "help", help) != BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK;
}

/* "parameters": all of them with type and help; "version": of the plugin. */
static bt_component_class_query_method_status
query(bt_self_component_class_sink *self, bt_private_query_executor *executor, const char *object, const bt_value *params,
      void *data, const bt_value **result)
{
	struct listing l = { 0 };

	(void)self;
	(void)executor;
	(void)params;
	(void)data;
	if (!strcmp(object, "version")) {
		l.map = bt_value_string_create_init(FLAME_VERSION);
	} else if (!strcmp(object, "parameters")) {
		l.map = bt_value_map_create();
		if (l.map)
			params_each(list_param, &l);
	} else {
		return BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_UNKNOWN_OBJECT;
	}
	if (!l.map || l.failed) {
		bt_value_put_ref(l.map);
		return BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_MEMORY_ERROR;
	}
	*result = l.map;
	return BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_OK;
}

static const char help[] = HELP
#define PARAM(name, type, at, text) "    " name "\n        " text "\n"
#include "params_list.h"
#undef PARAM
;

BT_PLUGIN_SINK_COMPONENT_CLASS(svg, flame_sink_consume);
BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(svg, "Write a flame graph as an SVG picture");
BT_PLUGIN_SINK_COMPONENT_CLASS_HELP(svg, help);
BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(svg, init_svg);
BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(svg, flame_sink_finalize);
BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(svg, flame_sink_configured);
BT_PLUGIN_SINK_COMPONENT_CLASS_GET_SUPPORTED_MIP_VERSIONS_METHOD(svg, get_mip_versions);
BT_PLUGIN_SINK_COMPONENT_CLASS_QUERY_METHOD(svg, query);

BT_PLUGIN_SINK_COMPONENT_CLASS(folded, flame_sink_consume);
BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(folded, "Write stacks as folded text");
BT_PLUGIN_SINK_COMPONENT_CLASS_HELP(folded, help);
BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(folded, init_folded);
BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(folded, flame_sink_finalize);
BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(folded, flame_sink_configured);
BT_PLUGIN_SINK_COMPONENT_CLASS_GET_SUPPORTED_MIP_VERSIONS_METHOD(folded, get_mip_versions);
BT_PLUGIN_SINK_COMPONENT_CLASS_QUERY_METHOD(folded, query);

BT_PLUGIN_SINK_COMPONENT_CLASS(report, flame_sink_consume);
BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(report, "Write a report: where the time goes, and whether that can be trusted");
BT_PLUGIN_SINK_COMPONENT_CLASS_HELP(report, help);
BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(report, init_report);
BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(report, flame_sink_finalize);
BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(report, flame_sink_configured);
BT_PLUGIN_SINK_COMPONENT_CLASS_GET_SUPPORTED_MIP_VERSIONS_METHOD(report, get_mip_versions);
BT_PLUGIN_SINK_COMPONENT_CLASS_QUERY_METHOD(report, query);
