package shapes

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type parameter struct {
	name string
	of   tftypes.Type
}

// definition is a function of required parameters; its other properties are set by the functions below.
func definition(parameters []parameter, result tftypes.Type, changes ...func(*tfprotov6.Function)) *tfprotov6.Function {
	made := &tfprotov6.Function{Return: &tfprotov6.FunctionReturn{Type: result}}
	for _, parameter := range parameters {
		made.Parameters = append(made.Parameters, &tfprotov6.FunctionParameter{Name: parameter.name, Type: parameter.of})
	}
	for _, change := range changes {
		change(made)
	}
	return made
}

func nullable(positions ...int) func(*tfprotov6.Function) {
	return func(f *tfprotov6.Function) {
		for _, position := range positions {
			f.Parameters[position].AllowNullValue = true
		}
	}
}

func unknownAllowed(positions ...int) func(*tfprotov6.Function) {
	return func(f *tfprotov6.Function) {
		for _, position := range positions {
			f.Parameters[position].AllowUnknownValues = true
		}
	}
}

func variadic(name string, of tftypes.Type) func(*tfprotov6.Function) {
	return func(f *tfprotov6.Function) { f.VariadicParameter = &tfprotov6.FunctionParameter{Name: name, Type: of} }
}

func described(summary, description string, parameters ...string) func(*tfprotov6.Function) {
	return func(f *tfprotov6.Function) {
		f.Summary, f.Description, f.DescriptionKind = summary, description, tfprotov6.StringKindMarkdown
		for i, description := range parameters {
			f.Parameters[i].Description, f.Parameters[i].DescriptionKind = description, tfprotov6.StringKindMarkdown
		}
	}
}

func outdated(message string) func(*tfprotov6.Function) {
	return func(f *tfprotov6.Function) { f.DeprecationMessage = message }
}

// functions give back all of their arguments as a JSON text, or the first as it is, or something made up.
var functions = map[string]function{
	"take_nothing": {definition(nil, text), returnAll},
	"take_kinds": {definition([]parameter{
		{"a_text", text}, {"a_number", number}, {"a_truth", truth}, {"some_list", listOf(text)}, {"some_set", setOf(number)},
		{"some_map", mapOf(text)}, {"some_object", point}, {"any_value", anything},
	}, text), returnAll},
	"take_objects": {definition([]parameter{
		{"person", person}, {"address_list", listOf(address)}, {"point_map", mapOf(point)}, {"grid", listOf(listOf(text))},
	}, text), returnAll},
	"take_optional":        {definition([]parameter{{"first", text}, {"second", text}}, text, nullable(1)), returnAll},
	"take_optional_middle": {definition([]parameter{{"first", text}, {"second", text}, {"third", text}}, text, nullable(1)), returnAll},
	"take_optional_all":    {definition([]parameter{{"first", text}, {"second", listOf(text)}, {"third", anything}}, text, nullable(0, 1, 2)), returnAll},
	"take_unknown":         {definition([]parameter{{"first", text}, {"second", mapOf(text)}}, text, unknownAllowed(0, 1)), returnAll},
	"take_many":            {definition(nil, text, variadic("values", text)), returnAll},
	"take_many_numbers":    {definition([]parameter{{"first", number}}, text, variadic("rest", number)), returnAll},
	"take_many_optional":   {definition([]parameter{{"first", number}, {"second", number}}, text, nullable(1), variadic("rest", mapOf(number))), returnAll},
	"take_many_objects":    {definition(nil, text, variadic("points", point)), returnAll},
	"take_many_any":        {definition(nil, text, variadic("anything", anything)), returnAll},
	"take_nameless":        {definition([]parameter{{"", text}, {"", number}, {"named", text}}, text, variadic("", truth)), returnAll},
	"take_same":            {definition([]parameter{{"same", text}, {"same", number}, {"same", truth}}, text, variadic("same", text)), returnAll},
	"take_keywords":        {definition([]parameter{{"class", text}, {"import", text}, {"self", text}, {"func", text}}, text), returnAll},

	"give_text":    {definition([]parameter{{"value", text}}, text), returnFirst},
	"give_number":  {definition([]parameter{{"value", number}}, number), returnFirst},
	"give_truth":   {definition([]parameter{{"value", truth}}, truth), returnFirst},
	"give_list":    {definition([]parameter{{"value", listOf(text)}}, listOf(text)), returnFirst},
	"give_set":     {definition([]parameter{{"value", setOf(text)}}, setOf(text)), returnFirst},
	"give_map":     {definition([]parameter{{"value", mapOf(number)}}, mapOf(number)), returnFirst},
	"give_object":  {definition([]parameter{{"value", point}}, point), returnFirst},
	"give_person":  {definition([]parameter{{"value", person}}, person), returnFirst},
	"give_objects": {definition([]parameter{{"value", listOf(point)}}, listOf(point)), returnFirst},
	"give_any":     {definition([]parameter{{"value", anything}}, anything), returnFirst},
	"give_null":    {definition([]parameter{{"value", text}}, text, nullable(0)), returnFirst},
	"give_made":    {definition(nil, person), returnValue(person)},

	"described": {definition([]parameter{{"snake_case", text}, {"plain", text}}, text,
		described("Describes <b>itself</b>: `snake_case` */", "A *description* with `snake_case`, <!-- hidden --> and a [link](https://example.com).\n\n"+fence+"terraform\nprovider::conformance::described(\"a\")\n"+fence,
			"The `snake_case` one.", "Unicode: größe. */")), returnAll},
	"summarised": {definition([]parameter{{"value", text}}, text, func(f *tfprotov6.Function) { f.Summary = "Only a summary." }), returnAll},
	"outdated":   {definition([]parameter{{"value", text}}, text, outdated("Use `give_text` instead.")), returnFirst},
	"import":     {definition([]parameter{{"value", text}}, text), returnFirst},
	"double__2x": {definition([]parameter{{"value", text}}, text), returnFirst},
}
