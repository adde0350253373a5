package main

import (
	"fmt"
	"slices"
	"testing"
)

const (
	one   = "11111111-1111-1111-1111-111111111111"
	two   = "22222222-2222-2222-2222-222222222222"
	three = "33333333-3333-3333-3333-333333333333"
)

func noted(compare func(note note)) (lines []string) {
	compare(func(format string, arguments ...any) { lines = append(lines, fmt.Sprintf(format, arguments...)) })
	return lines
}

func TestDifferencesAreFound(t *testing.T) {
	for name, pair := range map[string][2]any{
		"a value":            {map[string]any{"a": "x"}, map[string]any{"a": "y"}},
		"a kind":             {map[string]any{"a": "1"}, map[string]any{"a": 1.0}},
		"what OpenTofu has":  {map[string]any{"a": "x"}, map[string]any{}},
		"what isthmus has":   {map[string]any{}, map[string]any{"a": false}},
		"an order":           {[]any{"x", "y"}, []any{"y", "x"}},
		"a length":           {[]any{"x"}, []any{"x", "x"}},
		"an element of sets": {set{"x", "y"}, set{"x", "z"}},
		"made up or not":     {one, "none"},
		"what corresponds":   {[]any{one, one}, []any{two, three}},
	} {
		lines := noted(func(note note) { newComparison(&Journey{}).values("", pair[0], pair[1], note) })
		if len(lines) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestWhatIsMadeUpCorresponds(t *testing.T) {
	theirs := map[string]any{"id": one, "at": "2026-11-28T20:00:00Z", "of": set{"b/" + one, "a"}}
	ours := map[string]any{"id": two, "at": "2026-11-28T20:00:07Z", "of": set{"a", "b/" + two}}
	if lines := noted(func(note note) { newComparison(&Journey{}).values("", theirs, ours, note) }); lines != nil {
		t.Error(lines)
	}
}

func TestPulumisValuesGetTheFormOfTheSchema(t *testing.T) {
	text := []byte(`["set","string"]`)
	schema := block{
		Attributes: map[string]attribute{"id": {Type: []byte(`"string"`)}, "allowed_origin": {Type: text}},
		Blocks:     map[string]nested{"only_one": {Mode: "list", MaxItems: 1, Block: block{Attributes: map[string]attribute{"secret_key": {Type: []byte(`"string"`)}}}}},
	}
	secret := map[string]any{signature: secretSignature, "plaintext": `"s"`}
	form := form{secret: map[string]bool{}, id: "thingId"}
	made := form.block(map[string]any{
		"id": "outer", "thingId": "inner", "allowedOrigins": []any{"a"}, "onlyOne": map[string]any{"secretKey": secret}, "other": true,
	}, schema, "")
	lines := noted(func(note note) {
		newComparison(&Journey{}).values("", map[string]any{
			"id": "inner", "allowed_origin": set{"a"}, "only_one": []any{map[string]any{"secret_key": "s"}},
		}, made, note)
	})
	if lines != nil || !form.secret["only_one[].secret_key"] || !slices.Equal(form.strange, []string{"other is nothing of the schema: true"}) {
		t.Error(lines, form.secret, form.strange)
	}
}
