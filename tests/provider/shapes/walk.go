package shapes

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// walk goes through a value along its schema and builds a new one of what its functions return.
type walk struct {
	// attribute returns what an attribute is to be; the walk goes into nested attributes that are neither null nor unknown then.
	attribute func(path *tftypes.AttributePath, attribute *tfprotov6.SchemaAttribute, value tftypes.Value) tftypes.Value

	// blocks, if set, is told of all blocks of one name.
	blocks func(path *tftypes.AttributePath, block *tfprotov6.SchemaNestedBlock, value tftypes.Value)
}

func (w walk) block(path *tftypes.AttributePath, block *tfprotov6.SchemaBlock, value tftypes.Value) tftypes.Value {
	members, ok := raw.Members(value)
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
				inner, ok := raw.Members(element)
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
	if elements, ok := raw.Elements(value); ok {
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
	if members, ok := raw.Members(value); ok {
		replaced := map[string]tftypes.Value{}
		for key, element := range members {
			replaced[key] = replace(path.WithElementKeyString(key), element)
		}
		return tftypes.NewValue(value.Type(), replaced)
	}
	return value
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
			return raw.MadeUp(pathText(path), attributeType(attribute))
		}
	}}.block(tftypes.NewAttributePath(), block, plan)
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
		return raw.MadeUp("id", of)
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
			elements, _ := raw.Elements(value)
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
