// Package raw reads, makes up and keeps values without knowing their types beforehand, which is what resources of many shapes share.
package raw

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Members are those of a known object or map.
func Members(value tftypes.Value) (map[string]tftypes.Value, bool) {
	var members map[string]tftypes.Value
	if value.IsNull() || !value.IsKnown() || value.As(&members) != nil {
		return nil, false
	}
	return members, true
}

// Elements are those of a known list, set or tuple.
func Elements(value tftypes.Value) ([]tftypes.Value, bool) {
	var elements []tftypes.Value
	if value.IsNull() || !value.IsKnown() || value.As(&elements) != nil {
		return nil, false
	}
	return elements, true
}

// Text is the text of a known string, and nothing otherwise (also for no value at all, whose type is nil).
func Text(value tftypes.Value) string {
	var text string
	if value.Type() != nil && value.IsKnown() && value.Type().Is(tftypes.String) {
		// A known string always is one.
		_ = value.As(&text)
	}
	return text
}

// Truth is a known truth value, and false otherwise.
func Truth(value tftypes.Value) bool {
	var truth bool
	if value.Type() != nil && value.IsKnown() && value.Type().Is(tftypes.Bool) {
		// A known truth value always is one.
		_ = value.As(&truth)
	}
	return truth
}

// MadeUp is the value that a computed attribute has: for a text "made up: PATH", for a number 42, true, one element or member each.
func MadeUp(path string, of tftypes.Type) tftypes.Value {
	return Make(path, of, func(path string, of tftypes.Type) any {
		switch {
		case of.Is(tftypes.Number):
			return big.NewFloat(42)
		case of.Is(tftypes.Bool):
			return true
		default:
			return "made up: " + path
		}
	})
}

// Make is a value with one element in each collection (of maps with the key `key`), of the primitives that are given. A value of any
// type is a text.
func Make(path string, of tftypes.Type, primitive func(path string, of tftypes.Type) any) tftypes.Value {
	switch of := of.(type) {
	case tftypes.List:
		return tftypes.NewValue(of, []tftypes.Value{Make(path+".0", of.ElementType, primitive)})
	case tftypes.Set:
		return tftypes.NewValue(of, []tftypes.Value{Make(path+".*", of.ElementType, primitive)})
	case tftypes.Map:
		return tftypes.NewValue(of, map[string]tftypes.Value{"key": Make(path+".key", of.ElementType, primitive)})
	case tftypes.Tuple:
		elements := []tftypes.Value{}
		for i, element := range of.ElementTypes {
			elements = append(elements, Make(fmt.Sprintf("%s.%d", path, i), element, primitive))
		}
		return tftypes.NewValue(of, elements)
	case tftypes.Object:
		members := map[string]tftypes.Value{}
		for name, member := range of.AttributeTypes {
			members[name] = Make(path+"."+name, member, primitive)
		}
		return tftypes.NewValue(of, members)
	}
	if of.Is(tftypes.DynamicPseudoType) {
		of = tftypes.String
	}
	return tftypes.NewValue(of, primitive(path, of))
}

// ToJSON is the value as Terraform's state has it: a value of a dynamic attribute comes with its type. It fails for the unknown.
func ToJSON(of tftypes.Type, value tftypes.Value) (any, error) {
	if !value.IsKnown() {
		return nil, fmt.Errorf("an unknown value of type %s cannot be kept", value.Type())
	}
	if value.IsNull() {
		return nil, nil
	}
	if of.Is(tftypes.DynamicPseudoType) {
		inner, err := ToJSON(value.Type(), value)
		return map[string]any{"type": value.Type(), "value": inner}, err
	}
	if elements, ok := Elements(value); ok {
		array := []any{}
		for i, element := range elements {
			converted, err := ToJSON(elementType(of, i), element)
			if err != nil {
				return nil, err
			}
			array = append(array, converted)
		}
		return array, nil
	}
	if members, ok := Members(value); ok {
		object := map[string]any{}
		for name, member := range members {
			converted, err := ToJSON(memberType(of, name), member)
			if err != nil {
				return nil, err
			}
			object[name] = converted
		}
		return object, nil
	}
	return primitiveToJSON(value)
}

// FromJSON reads what ToJSON wrote. Attributes of the outermost object that a file leaves out are null.
func FromJSON(of tftypes.Object, encoded json.RawMessage) (tftypes.Value, error) {
	members := map[string]json.RawMessage{}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	if err := decoder.Decode(&members); err != nil {
		return tftypes.NewValue(of, nil), err
	}
	for name := range of.AttributeTypes {
		if _, found := members[name]; !found {
			members[name] = json.RawMessage("null")
		}
	}
	completed, err := json.Marshal(members)
	if err != nil {
		return tftypes.NewValue(of, nil), err
	}
	return tfprotov6.RawState{JSON: completed}.Unmarshal(of)
}

func primitiveToJSON(value tftypes.Value) (any, error) {
	switch {
	case value.Type().Is(tftypes.Bool):
		var truth bool
		err := value.As(&truth)
		return truth, err
	case value.Type().Is(tftypes.Number):
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
		return tftypes.DynamicPseudoType
	}
}

func memberType(of tftypes.Type, name string) tftypes.Type {
	switch of := of.(type) {
	case tftypes.Map:
		return of.ElementType
	case tftypes.Object:
		return of.AttributeTypes[name]
	default:
		return tftypes.DynamicPseudoType
	}
}
