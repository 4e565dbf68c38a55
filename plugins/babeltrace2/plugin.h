/* SPDX-License-Identifier: MIT */
#ifndef FLAME_BT2_PLUGIN_H
#define FLAME_BT2_PLUGIN_H
/* plugin.h - the methods of all sinks; they differ in what they write to `output`. */
#include <babeltrace2/babeltrace.h>

#include "params.h"

bt_component_class_initialize_method_status flame_sink_initialize(bt_self_component_sink *self, const bt_value *values,
								  enum writer writer);
void flame_sink_finalize(bt_self_component_sink *self);
bt_component_class_sink_graph_is_configured_method_status flame_sink_configured(bt_self_component_sink *self);
bt_component_class_sink_consume_method_status flame_sink_consume(bt_self_component_sink *self);

#endif
