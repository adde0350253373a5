package shapes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// prefix is what the names of all resources and data sources begin with, variants excepted.
const prefix = "conformance_"

// shape is one line of a table of resources, data sources, ephemeral resources, list resources or actions.
type shape struct {
	version int64
	parts   parts

	// replaces are the attributes of which a change replaces the resource.
	replaces []string

	// identity is what a resource is known by; its attributes are attributes of the resource, too.
	identity *tfprotov6.ResourceIdentitySchema

	// block is what the parts make.
	block *tfprotov6.SchemaBlock
}

// function is one line of a table of functions.
type function struct {
	definition *tfprotov6.Function
	call       func(arguments []tftypes.Value) (tftypes.Value, error)
}

type tables struct {
	resources, dataSources, ephemerals, lists, actions map[string]shape

	functions map[string]function
}

// variants are what the Go bridge refuses, or what breaks it; none is there unless asked for.
var variants = map[string]tables{
	"collisions": collisions,
	"prefixes":   prefixes,
	"faulty":     faulty,
	"tuples":     tuples,
	"properties": properties,
	"grammar":    grammar,
	"reserved":   reserved,
}

// tablesOf joins what is always there with the chosen variants, without what the protocol cannot say. Who wants but one thing of a
// variant chooses it by its own name.
func tablesOf(protocol int, chosen []string) (tables, error) {
	all := tables{
		resources: map[string]shape{}, dataSources: map[string]shape{}, ephemerals: map[string]shape{},
		lists: map[string]shape{}, actions: map[string]shape{}, functions: map[string]function{},
	}
	for _, table := range []map[string]shape{blocks, nestedAttributes, types, flags, ids, autonames, names, texts} {
		all.add(protocol, tables{resources: table})
	}
	all.add(protocol, tables{dataSources: dataSources, ephemerals: ephemerals, lists: lists, actions: actions, functions: functions})
	for _, name := range chosen {
		variant, found := variants[name]
		if !found {
			variant, found = oneOf(name)
		}
		if !found {
			return all, fmt.Errorf("CONFORMANCE_VARIANTS names %q; there are %s, and the names of what is in them", name, strings.Join(variantNames(), ", "))
		}
		all.add(protocol, variant)
	}
	return all, nil
}

// oneOf is what has that name in any variant.
func oneOf(name string) (tables, bool) {
	var one tables
	found := false
	for _, variant := range variants {
		if made, ok := variant.resources[name]; ok {
			one.resources, found = map[string]shape{name: made}, true
		}
		if made, ok := variant.dataSources[name]; ok {
			one.dataSources, found = map[string]shape{name: made}, true
		}
		if made, ok := variant.functions[name]; ok {
			one.functions, found = map[string]function{name: made}, true
		}
	}
	return one, found
}

func variantNames() []string {
	names := []string{}
	for name := range variants {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (t tables) add(protocol int, more tables) {
	addShapes(protocol, t.resources, more.resources)
	addShapes(protocol, t.dataSources, more.dataSources)
	addShapes(protocol, t.ephemerals, more.ephemerals)
	addShapes(protocol, t.lists, more.lists)
	addShapes(protocol, t.actions, more.actions)
	for name, function := range more.functions {
		t.functions[name] = function
	}
}

func addShapes(protocol int, to, from map[string]shape) {
	for name, shape := range from {
		shape.block = shape.parts.block()
		if protocol == 6 || !hasNestedAttributes(shape.block) {
			to[name] = shape
		}
	}
}

func (t tables) definitions() map[string]*tfprotov6.Function {
	definitions := map[string]*tfprotov6.Function{}
	for name, function := range t.functions {
		definitions[name] = function.definition
	}
	return definitions
}

// returnAll is a text: the arguments as JSON.
func returnAll(arguments []tftypes.Value) (tftypes.Value, error) {
	array := []any{}
	for _, argument := range arguments {
		converted, err := raw.ToJSON(argument.Type(), argument)
		if err != nil {
			return tftypes.Value{}, err
		}
		array = append(array, converted)
	}
	encoded, err := json.Marshal(array)
	return tftypes.NewValue(text, string(encoded)), err
}

// returnFirst is the first argument itself.
func returnFirst(arguments []tftypes.Value) (tftypes.Value, error) {
	return arguments[0], nil
}

// returnValue is always the same value, made up.
func returnValue(of tftypes.Type) func([]tftypes.Value) (tftypes.Value, error) {
	return func([]tftypes.Value) (tftypes.Value, error) { return raw.MadeUp("result", valueType(of)), nil }
}
