package shapes

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// walk goes through a value along its schema and builds a new one of what its functions return.
type walk struct {
	// attribute returns what an attribute is to be; the walk goes into nested attributes that are neither null nor unknown then.
	attribute func(path *tftypes.AttributePath, attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value

	// blocks, if set, is told of all blocks of one name.
	blocks func(path *tftypes.AttributePath, block *tfprotov6.SchemaNestedBlock, value tftypes.Value)
}

func (w walk) block(path *tftypes.AttributePath, block *tfprotov6.SchemaBlock, value tftypes.Value) tftypes.Value {
	members, ok := membersOf(value)
	if !ok {
		return value
	}
	walked := w.attributes(path, block.Attributes, members)
	for _, inner := range block.BlockTypes {
		here := path.WithAttributeName(inner.TypeName)
		if w.blocks != nil {
			w.blocks(here, inner, walked[inner.TypeName])
		}
		walked[inner.TypeName] = each(here, walked[inner.TypeName], inner.Nesting == single || inner.Nesting == group,
			func(path *tftypes.AttributePath, element tftypes.Value) tftypes.Value {
				return w.block(path, inner.Block, element)
			})
	}
	return tftypes.NewValue(value.Type(), walked)
}

// attributes returns the members with those replaced that are attributes.
func (w walk) attributes(path *tftypes.AttributePath, attributes []*tfprotov6.SchemaAttribute, members map[string]tftypes.Value) map[string]tftypes.Value {
	walked := map[string]tftypes.Value{}
	for name, member := range members {
		walked[name] = member
	}
	for _, attribute := range attributes {
		here := path.WithAttributeName(attribute.Name)
		member := w.attribute(here, attribute, members[attribute.Name])
		if object := attribute.NestedType; object != nil {
			member = each(here, member, object.Nesting == oneObject, func(path *tftypes.AttributePath, element tftypes.Value) tftypes.Value {
				inner, ok := membersOf(element)
				if !ok {
					return element
				}
				return tftypes.NewValue(element.Type(), w.attributes(path, object.Attributes, inner))
			})
		}
		walked[attribute.Name] = member
	}
	return walked
}

// each replaces the value itself if it is the only one, else each of its elements.
func each(path *tftypes.AttributePath, value tftypes.Value, only bool, replace func(*tftypes.AttributePath, tftypes.Value) tftypes.Value) tftypes.Value {
	if only {
		return replace(path, value)
	}
	if elements, ok := elementsOf(value); ok {
		replaced := []tftypes.Value{}
		for i, element := range elements {
			here := path.WithElementKeyInt(i)
			if value.Type().Is(tftypes.Set{}) {
				here = path.WithElementKeyValue(element)
			}
			replaced = append(replaced, replace(here, element))
		}
		return tftypes.NewValue(value.Type(), replaced)
	}
	if members, ok := membersOf(value); ok {
		replaced := map[string]tftypes.Value{}
		for key, element := range members {
			replaced[key] = replace(path.WithElementKeyString(key), element)
		}
		return tftypes.NewValue(value.Type(), replaced)
	}
	return value
}

// membersOf are those of a known object or map.
func membersOf(value tftypes.Value) (map[string]tftypes.Value, bool) {
	var members map[string]tftypes.Value
	if value.IsNull() || !value.IsKnown() || value.As(&members) != nil {
		return nil, false
	}
	return members, true
}

// elementsOf are those of a known list, set or tuple.
func elementsOf(value tftypes.Value) ([]tftypes.Value, bool) {
	var elements []tftypes.Value
	if value.IsNull() || !value.IsKnown() || value.As(&elements) != nil {
		return nil, false
	}
	return elements, true
}

// textOf is the text of a known string, and nothing otherwise (also for no value at all, whose type is nil).
func textOf(value tftypes.Value) string {
	var text string
	if value.Type() != nil && value.IsKnown() && value.Type().Is(tftypes.String) {
		// A known string always is one.
		_ = value.As(&text)
	}
	return text
}

// planned is the plan of what is proposed: computed attributes without a value become unknown, write-only ones null.
func planned(block *tfprotov6.SchemaBlock, proposed tftypes.Value) tftypes.Value {
	return walk{attribute: func(_ *tftypes.AttributePath, attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value {
		switch {
		case attribute.WriteOnly:
			return tftypes.NewValue(attributeType(attribute), nil)
		case attribute.Computed && value.IsNull():
			return tftypes.NewValue(attributeType(attribute), tftypes.UnknownValue)
		default:
			return value
		}
	}}.block(tftypes.NewAttributePath(), block, proposed)
}

// applied makes up what is unknown in a plan.
func applied(block *tfprotov6.SchemaBlock, id string, plan tftypes.Value) tftypes.Value {
	return walk{attribute: func(path *tftypes.AttributePath, attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value {
		switch {
		case attribute.WriteOnly:
			return tftypes.NewValue(attributeType(attribute), nil)
		case value.IsKnown():
			return value
		case pathText(path) == "id":
			return madeUpID(id, attributeType(attribute))
		default:
			return madeUp(pathText(path), attributeType(attribute))
		}
	}}.block(tftypes.NewAttributePath(), block, plan)
}

// madeUp is the value that a computed attribute has: for a text "made up: PATH", for a number 42, true, one element or member each.
func madeUp(path string, of tftypes.Type) tftypes.Value {
	switch of := of.(type) {
	case tftypes.List:
		return tftypes.NewValue(of, []tftypes.Value{madeUp(path+".0", of.ElementType)})
	case tftypes.Set:
		return tftypes.NewValue(of, []tftypes.Value{madeUp(path+".*", of.ElementType)})
	case tftypes.Map:
		return tftypes.NewValue(of, map[string]tftypes.Value{"key": madeUp(path+".key", of.ElementType)})
	case tftypes.Tuple:
		elements := []tftypes.Value{}
		for i, element := range of.ElementTypes {
			elements = append(elements, madeUp(fmt.Sprintf("%s.%d", path, i), element))
		}
		return tftypes.NewValue(of, elements)
	case tftypes.Object:
		members := map[string]tftypes.Value{}
		for name, member := range of.AttributeTypes {
			members[name] = madeUp(path+"."+name, member)
		}
		return tftypes.NewValue(of, members)
	}
	switch {
	case of.Is(number):
		return tftypes.NewValue(of, big.NewFloat(42))
	case of.Is(truth):
		return tftypes.NewValue(of, true)
	default:
		return tftypes.NewValue(text, "made up: "+path)
	}
}

// madeUpID is the object's id, or the number at its end.
func madeUpID(id string, of tftypes.Type) tftypes.Value {
	switch {
	case of.Is(text):
		return tftypes.NewValue(of, id)
	case of.Is(number):
		// The store's ids end in a dash and a number.
		end, _ := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64)
		return tftypes.NewValue(of, new(big.Float).SetInt64(end))
	default:
		return madeUp("id", of)
	}
}

// pathText is the path with dots; an element of a set is a star.
func pathText(path *tftypes.AttributePath) string {
	steps := []string{}
	for _, step := range path.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			steps = append(steps, string(step))
		case tftypes.ElementKeyString:
			steps = append(steps, string(step))
		case tftypes.ElementKeyInt:
			steps = append(steps, strconv.FormatInt(int64(step), 10))
		default:
			steps = append(steps, "*")
		}
	}
	return strings.Join(steps, ".")
}

// misconfigured tells what is wrong with a configuration, as the libraries for providers would. Terraform's core finds most of this
// before it asks a provider; a bridge has nobody else to do it.
func misconfigured(block *tfprotov6.SchemaBlock, config tftypes.Value, writeOnlyAllowed bool) []*tfprotov6.Diagnostic {
	var found []*tfprotov6.Diagnostic
	refuse := func(path *tftypes.AttributePath, summary, detail string) {
		found = append(found, &tfprotov6.Diagnostic{
			Severity: tfprotov6.DiagnosticSeverityError, Summary: summary, Detail: detail, Attribute: path,
		})
	}
	walk{
		attribute: func(path *tftypes.AttributePath, attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value {
			switch name := pathText(path); {
			case attribute.Required && value.IsNull():
				refuse(path, "Missing attribute", fmt.Sprintf("%s is required.", name))
			case attribute.Computed && !attribute.Optional && !value.IsNull():
				refuse(path, "Read-only attribute", fmt.Sprintf("%s cannot be configured.", name))
			case attribute.WriteOnly && !value.IsNull() && !writeOnlyAllowed:
				refuse(path, "Write-only attribute", fmt.Sprintf("%s is write-only, which the client does not know of.", name))
			}
			return value
		},
		blocks: func(path *tftypes.AttributePath, block *tfprotov6.SchemaNestedBlock, value tftypes.Value) {
			if !value.IsKnown() {
				return
			}
			elements, _ := elementsOf(value)
			count := int64(len(elements))
			if (block.Nesting == single || block.Nesting == group) && !value.IsNull() {
				count = 1
			}
			switch name := pathText(path); {
			case count < block.MinItems:
				refuse(path, "Too few blocks", fmt.Sprintf("There are %d blocks %s; at least %d have to be.", count, name, block.MinItems))
			case block.MaxItems > 0 && count > block.MaxItems:
				refuse(path, "Too many blocks", fmt.Sprintf("There are %d blocks %s; at most %d may be.", count, name, block.MaxItems))
			}
		},
	}.block(tftypes.NewAttributePath(), block, config)
	return found
}

// toJSON is the value as Terraform's state has it: a value of a dynamic attribute comes with its type. It fails for the unknown.
func toJSON(of tftypes.Type, value tftypes.Value) (any, error) {
	if !value.IsKnown() {
		return nil, fmt.Errorf("an unknown value of type %s cannot be kept", value.Type())
	}
	if value.IsNull() {
		return nil, nil
	}
	if of.Is(anything) {
		inner, err := toJSON(value.Type(), value)
		return map[string]any{"type": value.Type(), "value": inner}, err
	}
	if elements, ok := elementsOf(value); ok {
		array := []any{}
		for i, element := range elements {
			converted, err := toJSON(elementType(of, i), element)
			if err != nil {
				return nil, err
			}
			array = append(array, converted)
		}
		return array, nil
	}
	if members, ok := membersOf(value); ok {
		object := map[string]any{}
		for name, member := range members {
			converted, err := toJSON(memberType(of, name), member)
			if err != nil {
				return nil, err
			}
			object[name] = converted
		}
		return object, nil
	}
	return primitiveToJSON(value)
}

func primitiveToJSON(value tftypes.Value) (any, error) {
	switch {
	case value.Type().Is(truth):
		var truth bool
		err := value.As(&truth)
		return truth, err
	case value.Type().Is(number):
		number := new(big.Float)
		err := value.As(&number)
		return numberToken(number), err
	default:
		var text string
		err := value.As(&text)
		return text, err
	}
}

// numberPrecision is that of Terraform's own numbers, in bits of the mantissa.
const numberPrecision = 512

// numberToken is a number in all its digits: one that came as a float64 has to be widened, or its shortest decimal is another number.
func numberToken(number *big.Float) json.Number {
	return json.Number(new(big.Float).SetPrec(numberPrecision).Set(number).Text('g', -1))
}

func elementType(of tftypes.Type, index int) tftypes.Type {
	switch of := of.(type) {
	case tftypes.List:
		return of.ElementType
	case tftypes.Set:
		return of.ElementType
	case tftypes.Tuple:
		return of.ElementTypes[index]
	default:
		return anything
	}
}

func memberType(of tftypes.Type, name string) tftypes.Type {
	switch of := of.(type) {
	case tftypes.Map:
		return of.ElementType
	case tftypes.Object:
		return of.AttributeTypes[name]
	default:
		return anything
	}
}
