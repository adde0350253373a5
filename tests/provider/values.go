package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// numberPrecision is that of Terraform's own numbers, in bits of the mantissa.
const numberPrecision = 512

// objectAsOptions: blocks and nested attributes are only read when they are known.
var objectAsOptions = basetypes.ObjectAsOptions{}

// valueToJSON gives any known value the shape that encoding/json would decode it to, with numbers as text.
func valueToJSON(ctx context.Context, value attr.Value) (any, error) {
	raw, err := value.ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	return rawToJSON(raw)
}

func rawToJSON(raw tftypes.Value) (any, error) {
	if !raw.IsKnown() {
		return nil, fmt.Errorf("an unknown value of type %s reached the object", raw.Type())
	}
	if raw.IsNull() {
		return nil, nil
	}

	var elements []tftypes.Value
	var members map[string]tftypes.Value
	switch kind := raw.Type(); {
	case kind.Is(tftypes.String):
		var text string
		err := raw.As(&text)
		return text, err
	case kind.Is(tftypes.Bool):
		var truth bool
		err := raw.As(&truth)
		return truth, err
	case kind.Is(tftypes.Number):
		number := new(big.Float)
		if err := raw.As(&number); err != nil {
			return nil, err
		}
		return numberText(number), nil
	case kind.Is(tftypes.Map{}), kind.Is(tftypes.Object{}):
		if err := raw.As(&members); err != nil {
			return nil, err
		}
		object := map[string]any{}
		for name, member := range members {
			converted, err := rawToJSON(member)
			if err != nil {
				return nil, err
			}
			object[name] = converted
		}
		return object, nil
	default:
		if err := raw.As(&elements); err != nil {
			return nil, err
		}
		array := []any{}
		for _, element := range elements {
			converted, err := rawToJSON(element)
			if err != nil {
				return nil, err
			}
			array = append(array, converted)
		}
		return array, nil
	}
}

// valueFromJSON reads what a file says as a literal in a configuration would be read: arrays are tuples, objects are objects.
func valueFromJSON(decoded any) (attr.Value, error) {
	switch decoded := decoded.(type) {
	case nil:
		return types.DynamicNull(), nil
	case string:
		return types.StringValue(decoded), nil
	case bool:
		return types.BoolValue(decoded), nil
	case json.Number:
		return numberFromJSON(&decoded), nil
	case []any:
		elementTypes, elements := []attr.Type{}, []attr.Value{}
		for _, element := range decoded {
			converted, err := valueFromJSON(element)
			if err != nil {
				return nil, err
			}
			elements = append(elements, converted)
			elementTypes = append(elementTypes, converted.Type(context.Background()))
		}
		tuple, diagnostics := types.TupleValue(elementTypes, elements)
		if diagnostics.HasError() {
			return nil, fmt.Errorf("%v", diagnostics)
		}
		return tuple, nil
	case map[string]any:
		memberTypes, members := map[string]attr.Type{}, map[string]attr.Value{}
		for name, member := range decoded {
			converted, err := valueFromJSON(member)
			if err != nil {
				return nil, err
			}
			members[name] = converted
			memberTypes[name] = converted.Type(context.Background())
		}
		object, diagnostics := types.ObjectValue(memberTypes, members)
		if diagnostics.HasError() {
			return nil, fmt.Errorf("%v", diagnostics)
		}
		return object, nil
	default:
		return nil, fmt.Errorf("a %T is no JSON", decoded)
	}
}

// refreshedDynamic keeps the value of the state, and with it its type (a list, a set and a tuple look alike in a file), unless the
// file says something else.
func refreshedDynamic(ctx context.Context, state types.Dynamic, file any) (types.Dynamic, error) {
	known, err := valueToJSON(ctx, state)
	if err != nil {
		return state, err
	}
	if reflect.DeepEqual(known, file) {
		return state, nil
	}
	if file == nil {
		return types.DynamicNull(), nil
	}
	value, err := valueFromJSON(file)
	if err != nil {
		return state, err
	}
	return types.DynamicValue(value), nil
}

func numberToJSON(number types.Number) *json.Number {
	if number.IsNull() {
		return nil
	}
	text := numberText(number.ValueBigFloat())
	return &text
}

// numberFromJSON is null for a text that is no number, which encoding/json does not let through.
func numberFromJSON(text *json.Number) types.Number {
	if text == nil {
		return types.NumberNull()
	}
	number, _, err := big.ParseFloat(text.String(), 10, numberPrecision, big.ToNearestEven)
	if err != nil {
		return types.NumberNull()
	}
	return types.NumberValue(number)
}

// numberText writes the shortest decimal that reads back as the same number at full precision: a number that came as a float64 has
// to be widened first, or its shortest decimal would read back as another number.
func numberText(number *big.Float) json.Number {
	return json.Number(new(big.Float).SetPrec(numberPrecision).Set(number).Text('g', -1))
}
