package shapes

import "github.com/hashicorp/terraform-plugin-go/tftypes"

var (
	point   = objectOf(fields{"x": number, "y": number})
	address = objectOf(fields{"street": text, "city": text, "zip_code": text}, "zip_code")
	person  = objectOf(fields{"name": text, "email": listOf(text), "home": address, "is_admin": truth}, "email", "home")
)

// types are attributes of every type. In all of them, what is called made_… is computed.
var types = map[string]shape{
	"conformance_kinds": {parts: parts{
		about("Primitives, and collections of primitives."),
		attribute("id", text, computed),
		attribute("text", text, optional),
		attribute("number", number, optional),
		attribute("truth", truth, optional),
		attribute("text_list", listOf(text), optional),
		attribute("number_list", listOf(number), optional),
		attribute("truth_list", listOf(truth), optional),
		attribute("text_set", setOf(text), optional),
		attribute("number_set", setOf(number), optional),
		attribute("truth_set", setOf(truth), optional),
		attribute("text_map", mapOf(text), optional),
		attribute("number_map", mapOf(number), optional),
		attribute("truth_map", mapOf(truth), optional),
		attribute("made_text", text, computed),
		attribute("made_number", number, computed),
		attribute("made_truth", truth, computed),
		attribute("made_list", listOf(text), computed),
		attribute("made_set", setOf(number), computed),
		attribute("made_map", mapOf(truth), computed),
	}},

	"conformance_objects": {parts: parts{
		about("Attributes of object types: without optional attributes (then all are), with some, with all; in collections, in each other."),
		attribute("id", text, computed),
		attribute("point", point, optional),
		attribute("address", address, optional),
		attribute("free", objectOf(fields{"left": text, "right": text}, "left", "right"), optional),
		attribute("person", person, optional),
		attribute("points", listOf(point), optional),
		attribute("address_set", setOf(address), optional),
		attribute("people", mapOf(person), optional),
		attribute("empty", objectOf(fields{}), optional),
		attribute("boxed", objectOf(fields{
			"rule":   listOf(objectOf(fields{"port": listOf(number), "cidr_block": setOf(text), "label": mapOf(text)})),
			"points": mapOf(point),
			"inner":  objectOf(fields{"inner": objectOf(fields{"depth_level": number})}),
		}), optional),
		attribute("needed", point, required),
		attribute("made_point", point, computed),
		attribute("made_points", listOf(point), computed),
		attribute("made_people", mapOf(person), computed),
	}},

	"conformance_deep": {parts: parts{
		about("Collections of collections."),
		attribute("id", text, computed),
		attribute("grid", listOf(listOf(text)), optional),
		attribute("cube", listOf(listOf(listOf(number))), optional),
		attribute("map_of_lists", mapOf(listOf(text)), optional),
		attribute("map_of_maps", mapOf(mapOf(number)), optional),
		attribute("map_of_sets", mapOf(setOf(text)), optional),
		attribute("list_of_maps", listOf(mapOf(text)), optional),
		attribute("list_of_sets", listOf(setOf(text)), optional),
		attribute("set_of_lists", setOf(listOf(text)), optional),
		attribute("set_of_sets", setOf(setOf(number)), optional),
		attribute("set_of_maps", setOf(mapOf(text)), optional),
		attribute("map_of_object_lists", mapOf(listOf(point)), optional),
		attribute("list_of_set_maps", listOf(setOf(mapOf(truth))), optional),
		attribute("made_grid", listOf(listOf(text)), computed),
		attribute("made_map", mapOf(listOf(point)), computed),
	}},

	"conformance_dynamics": {parts: parts{
		about("Attributes of a type that only the value tells, alone and in collections, whose elements must then be of one type."),
		attribute("id", text, computed),
		attribute("any", anything, optional),
		attribute("any_needed", anything, required),
		attribute("any_made", anything, computed),
		attribute("any_default", anything, optional, computed),
		attribute("any_secret", anything, optional, sensitive),
		attribute("any_list", listOf(anything), optional),
		attribute("any_map", mapOf(anything), optional),
		attribute("any_object", objectOf(fields{"kind": text, "value": anything}), optional),
	}},
}

var tupleType = tupleOf(text, number, truth)

// tuples are what the Go bridge has no schema for.
var tuples = tables{
	resources: map[string]shape{
		"conformance_tuples": {parts: parts{
			about("Attributes of tuple types."),
			attribute("id", text, computed),
			attribute("row", tupleType, optional),
			attribute("nothing", tupleOf(), optional),
			attribute("rows", listOf(tupleType), optional),
			attribute("rows_by_name", mapOf(tupleOf(text, listOf(number))), optional),
			attribute("boxed", objectOf(fields{"row": tupleOf(text, point)}), optional),
			attribute("made_row", tupleType, computed),
		}},
	},
	functions: map[string]function{
		"tuple_result":    {definition: definition(nil, tupleType), call: returnValue(tupleType)},
		"tuple_parameter": {definition: definition([]parameter{{"row", tupleType}}, text), call: returnAll},
		"tuple_lists":     {definition: definition([]parameter{{"rows", listOf(tftypes.Tuple{ElementTypes: []tftypes.Type{text, number}})}}, text), call: returnAll},
	},
}
