package main

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacySets has sets of blocks in sets of blocks, three levels, with computed members on each, as the rules of web application
// firewalls have; and sets with a hash of their own.
func legacySets() *schema.Resource {
	computed := func() *schema.Schema {
		return &schema.Schema{Type: schema.TypeString, Computed: true, Description: "Made of what else the element says."}
	}
	match := &schema.Resource{Schema: map[string]*schema.Schema{
		"text": {Type: schema.TypeString, Required: true, Description: "What to look for."},
		"mode": {Type: schema.TypeString, Optional: true, Default: "exact", Description: "A default inside."},
		"made": computed(),
	}}
	statement := &schema.Resource{Schema: map[string]*schema.Schema{
		"text":   {Type: schema.TypeString, Required: true, Description: "Where to look."},
		"negate": {Type: schema.TypeBool, Optional: true, Description: "A truth value."},
		"made":   computed(),
		"match":  {Type: schema.TypeSet, Optional: true, Elem: match, Description: "The third level."},
	}}
	rule := &schema.Resource{Schema: map[string]*schema.Schema{
		"text":      {Type: schema.TypeString, Required: true, Description: "Name of the rule."},
		"priority":  {Type: schema.TypeInt, Optional: true, Description: "A number."},
		"made":      computed(),
		"statement": {Type: schema.TypeSet, Optional: true, Elem: statement, Description: "The second level."},
	}}
	keeper := &legacyKeeper{
		kind: "legacy_sets",
		schema: map[string]*schema.Schema{
			"rule": {Type: schema.TypeSet, Optional: true, Elem: rule, Description: "The first level."},
			"chosen_rule": {
				Type: schema.TypeSet, Optional: true,
				Description: "Members that are optional and computed count for a set's hash: where the program is silent, this differs for ever.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"text":     {Type: schema.TypeString, Required: true, Description: "A text."},
					"priority": {Type: schema.TypeInt, Optional: true, Description: "A number."},
					"chosen":   {Type: schema.TypeString, Optional: true, Computed: true, Description: "Made where the program is silent."},
				}},
			},
			"fixed_rule": {
				Type: schema.TypeSet, Optional: true, ForceNew: true, Description: "Replaces.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"text": {Type: schema.TypeString, Required: true, ForceNew: true, Description: "A text."},
				}},
			},
			"case_blind": {
				Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString},
				Description: "Upper and lower case have the same hash.",
				Set: func(value any) int {
					text, _ := value.(string)
					return schema.HashString(strings.ToLower(text))
				},
			},
			"numbers": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeInt}, Description: "A set of numbers."},
			"slot": {
				Type: schema.TypeList, Optional: true, Description: "A list of blocks with a set inside.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"text":  {Type: schema.TypeString, Optional: true, Description: "A text."},
					"made":  computed(),
					"match": {Type: schema.TypeSet, Optional: true, Elem: match, Description: "A set inside."},
				}},
			},
		},
		finish: func(_ *schema.ResourceData, object *legacyKept) {
			for _, name := range []string{"rule", "chosen_rule", "slot"} {
				makeUpElements(object.State[name])
			}
		},
	}
	return keeper.resource(&schema.Resource{Description: "Sets of blocks in sets of blocks, with computed members."})
}

// makeUpElements fills in the computed members of blocks, and of the blocks in them.
func makeUpElements(blocks any) {
	elements, _ := blocks.([]any)
	for _, element := range elements {
		members, ok := element.(map[string]any)
		if !ok {
			continue
		}
		if _, found := members["made"]; found {
			members["made"] = fmt.Sprintf("made of %v", members["text"])
		}
		if members["chosen"] == "" {
			members["chosen"] = fmt.Sprintf("chosen of %v", members["text"])
		}
		makeUpElements(members["statement"])
		makeUpElements(members["match"])
	}
}
