package shapes

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// blockType is the type of the values of a block, by the rules of Terraform's core. The library's own ValueType knows neither that
// lists and maps of blocks with a dynamic attribute inside are dynamic themselves, nor that types of values have no optional
// attributes (it panics over those).
func blockType(block *tfprotov6.SchemaBlock) tftypes.Object {
	members := map[string]tftypes.Type{}
	for _, attribute := range block.Attributes {
		members[attribute.Name] = attributeType(attribute)
	}
	for _, inner := range block.BlockTypes {
		element := blockType(inner.Block)
		switch inner.Nesting {
		case list:
			members[inner.TypeName] = unlessDynamic(element, listOf(element))
		case keyed:
			members[inner.TypeName] = unlessDynamic(element, mapOf(element))
		case set:
			members[inner.TypeName] = setOf(element)
		default:
			members[inner.TypeName] = element
		}
	}
	return tftypes.Object{AttributeTypes: members}
}

func unlessDynamic(element, collection tftypes.Type) tftypes.Type {
	if holdsDynamic(element) {
		return anything
	}
	return collection
}

func attributeType(attribute *tfprotov6.SchemaAttribute) tftypes.Type {
	if attribute.NestedType == nil {
		return valueType(attribute.Type)
	}
	members := map[string]tftypes.Type{}
	for _, inner := range attribute.NestedType.Attributes {
		members[inner.Name] = attributeType(inner)
	}
	element := tftypes.Object{AttributeTypes: members}
	switch attribute.NestedType.Nesting {
	case objectList:
		return listOf(element)
	case objectSet:
		return setOf(element)
	case objectMap:
		return mapOf(element)
	default:
		return element
	}
}

// valueType is the type without the optional attributes of its objects.
func valueType(declared tftypes.Type) tftypes.Type {
	switch declared := declared.(type) {
	case tftypes.List:
		return listOf(valueType(declared.ElementType))
	case tftypes.Set:
		return setOf(valueType(declared.ElementType))
	case tftypes.Map:
		return mapOf(valueType(declared.ElementType))
	case tftypes.Tuple:
		elements := []tftypes.Type{}
		for _, element := range declared.ElementTypes {
			elements = append(elements, valueType(element))
		}
		return tupleOf(elements...)
	case tftypes.Object:
		members := map[string]tftypes.Type{}
		for name, member := range declared.AttributeTypes {
			members[name] = valueType(member)
		}
		return tftypes.Object{AttributeTypes: members}
	default:
		return declared
	}
}

func holdsDynamic(of tftypes.Type) bool {
	switch of := of.(type) {
	case tftypes.List:
		return holdsDynamic(of.ElementType)
	case tftypes.Set:
		return holdsDynamic(of.ElementType)
	case tftypes.Map:
		return holdsDynamic(of.ElementType)
	case tftypes.Tuple:
		for _, element := range of.ElementTypes {
			if holdsDynamic(element) {
				return true
			}
		}
		return false
	case tftypes.Object:
		for _, member := range of.AttributeTypes {
			if holdsDynamic(member) {
				return true
			}
		}
		return false
	default:
		return of.Is(anything)
	}
}

// hasNestedAttributes tells whether the block needs protocol 6.
func hasNestedAttributes(block *tfprotov6.SchemaBlock) bool {
	for _, attribute := range block.Attributes {
		if attribute.NestedType != nil {
			return true
		}
	}
	for _, inner := range block.BlockTypes {
		if hasNestedAttributes(inner.Block) {
			return true
		}
	}
	return false
}
