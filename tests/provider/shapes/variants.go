package shapes

import "github.com/hashicorp/terraform-plugin-go/tftypes"

// collisions: a function whose token is that of a data source, a nested type whose token is that of another one, and two actions of one
// token.
var collisions = tables{
	resources: map[string]shape{
		"conformance_clash_rule": {parts: parts{block("part", list, parts{attribute("number", number, required)})}},
		"conformance_clash_plural": {parts: leafResource.and(
			block("restrictions", list, parts{attribute("day", text, optional)}),
			block("restriction", single, parts{attribute("hour", number, optional)}),
			attribute("scopes_supported", listOf(text), optional),
		)},
	},
	dataSources: map[string]shape{"conformance_thing": {parts: leafResource}},
	functions:   map[string]function{"get_thing": {definition([]parameter{{"value", text}}, text), returnFirst}},
	actions:     map[string]shape{"conformance_foo_bar": {parts: leaf}, "conformance_foo__bar": {parts: leaf}},
}

// prefixes: names that do not all begin with the same word.
var prefixes = tables{
	resources:   map[string]shape{"elsewhere_thing": {parts: leafResource}, "conformance_thing": {parts: leafResource}, "word": {parts: leafResource}},
	dataSources: map[string]shape{"elsewhere_thing": {parts: leafResource}},
}

// faulty: resources of which the schema breaks the rules of the protocol, each in its own way, beside a good one.
var faulty = tables{
	resources: map[string]shape{
		"conformance_faulty_type":     {parts: leafResource.and(attribute("broken", unreadableType{text}, optional))},
		"conformance_faulty_untyped":  {parts: leafResource.and(attribute("broken", nil, optional))},
		"conformance_faulty_flagless": {parts: leafResource.and(attribute("broken", text, noOptions...))},
		"conformance_faulty_twice":    {parts: leafResource.and(attribute("label", number, optional))},
		"conformance_faulty_both":     {parts: leafResource.and(block("label", list, leaf))},
		"conformance_faulty_nameless": {parts: leafResource.and(attribute("", text, optional))},
		"conformance_faulty_nesting":  {parts: leafResource.and(block("broken", wrongNesting, leaf))},
		"conformance_faulty_nested":   {parts: leafResource.and(nested("broken", wrongNesting, leaf, optional))},
		"conformance_faulty_limits":   {parts: leafResource.and(block("broken", list, leaf, limit{3, 2}))},
		"conformance_faultless":       {parts: leafResource},
	},
}

// properties: attributes of one resource that get one name when their underscores go, or their names in the plural.
var properties = tables{
	resources: map[string]shape{
		"conformance_properties_underscored": {parts: leafResource.and(attribute("one_name", text, optional), attribute("one__name", number, optional))},
		"conformance_properties_camel":       {parts: leafResource.and(attribute("one_name", text, optional), attribute("oneName", number, optional))},
		"conformance_properties_plural":      {parts: leafResource.and(attribute("arc", text, optional), attribute("archive", listOf(number), optional))},
		"conformance_properties_block":       {parts: leafResource.and(attribute("one_name", text, optional), block("one__name", list, leaf, limit{0, 1}))},
		"conformance_properties_required":    {parts: leafResource.and(attribute("one_name", text, required), attribute("one__name", text, required))},
		"conformance_properties_inner":       {parts: leafResource.and(block("inner", list, parts{attribute("one_name", text, optional), attribute("one__name", number, optional)}))},
	},
}

// grammar: names that no library for providers lets through, but Terraform does.
var grammar = tables{
	resources: map[string]shape{
		"conformance_grammar_dash":    {parts: leafResource.and(attribute("with-dash", text, optional))},
		"conformance_grammar_unicode": {parts: leafResource.and(attribute("größe", text, optional), attribute("漢字", text, optional))},
		"conformance_grammar_digit":   {parts: leafResource.and(attribute("2nd", text, optional), attribute("_2nd", text, optional))},
	},
}

// reserved: names that Pulumi reserves, where the Go bridge either finds no other name or does not look for one.
var reserved = tables{
	resources: map[string]shape{
		"conformance_reserved_urn":    {parts: leafResource.and(attribute("urn", text, optional), attribute("conformance_urn", text, optional))},
		"conformance_reserved_pulumi": {parts: leafResource.and(attribute("pulumi", text, optional), attribute("pulumi_info", text, optional))},
		"conformance_reserved_inner":  {parts: leafResource.and(block("inner", list, parts{attribute("pulumi", text, optional)}))},
		"conformance_reserved_id": {parts: leafResource.and(
			attribute("reserved_id_id", text, optional), attribute("conformance_reserved_id_id", text, optional),
			attribute("resource_id", text, optional), attribute("conformance_id", text, optional),
		)[1:].and(attribute("id", text, optional))},
	},
	dataSources: map[string]shape{
		"conformance_reserved": {parts: parts{attribute("pulumi", text, optional), attribute("made", text, computed)}},
	},
}

// unreadableType says of itself what no reader of types understands.
type unreadableType struct{ tftypes.Type }

func (unreadableType) MarshalJSON() ([]byte, error) { return []byte(`["mystery","string"]`), nil }
