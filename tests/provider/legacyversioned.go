package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacyVersioned has the history of conformance_versioned, told by the older SDK: each upgrader leads to the next version, and the
// SDK goes from one to the other.
func legacyVersioned(version int64) *schema.Resource {
	keeper := &legacyKeeper{kind: "legacy_" + versionedKind, schema: legacyVersionedSchema(version), unread: []string{"origin"}}
	// A file is as the newest version has it, so that a provider of any age can read it.
	keeper.finish = func(data *schema.ResourceData, object *legacyKept) {
		if data.Id() == "" {
			object.State["origin"] = strconv.FormatInt(version, 10)
		}
		for from := version; from < newestVersion; from++ {
			// What cannot be upgraded stays as it is.
			_ = upgradeLegacyState(from, object.State)
		}
	}
	keeper.adapt = func(state map[string]any) { downgradeLegacyState(version, state) }
	versioned := keeper.resource(&schema.Resource{
		Description:   "A resource of the older SDK whose schema has a history.",
		SchemaVersion: int(version),
	})
	for from := int64(0); from < version && version < abandonedVersion; from++ {
		versioned.StateUpgraders = append(versioned.StateUpgraders, schema.StateUpgrader{
			Version: int(from),
			Type:    (&schema.Resource{Schema: withName(legacyVersionedSchema(from))}).CoreConfigSchema().ImpliedType(),
			Upgrade: func(_ context.Context, state map[string]any, _ any) (map[string]any, error) {
				return upgradeLegacyVersioned(from, state)
			},
		})
	}
	return versioned
}

func legacyVersionedSchema(version int64) map[string]*schema.Schema {
	described := map[string]*schema.Schema{
		"title":  {Type: schema.TypeString, Optional: true, Description: "A text; `refuse` cannot be upgraded."},
		"size":   {Type: schema.TypeInt, Optional: true, Description: "A number."},
		"labels": {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}, Description: "Words."},
		"origin": {Type: schema.TypeString, Computed: true, Description: "The versions that it went through, as in `0 1 2 3`."},
	}
	if version == 0 {
		described["old_title"] = described["title"]
		delete(described, "title")
	}
	if version < 2 {
		described["size"] = &schema.Schema{Type: schema.TypeString, Optional: true, Description: "A number as a text."}
	}
	if version < 3 {
		described["labels"] = &schema.Schema{Type: schema.TypeString, Optional: true, Description: "Words with commas between."}
	}
	return described
}

func withName(described map[string]*schema.Schema) map[string]*schema.Schema {
	described["name"] = &schema.Schema{Type: schema.TypeString, Required: true}
	return described
}

// upgradeLegacyVersioned refuses a title, and leaves a trace.
func upgradeLegacyVersioned(from int64, state map[string]any) (map[string]any, error) {
	if err := upgradeLegacyState(from, state); err != nil {
		return nil, err
	}
	if state["title"] == "refuse" {
		return nil, errors.New("a state of the title \"refuse\" cannot be upgraded")
	}
	state["origin"] = fmt.Sprintf("%v %d", state["origin"], from+1)
	return state, nil
}

// upgradeLegacyState goes to the next version.
func upgradeLegacyState(from int64, state map[string]any) error {
	switch from {
	case 0:
		state["title"] = state["old_title"]
		delete(state, "old_title")
	case 1:
		text, _ := state["size"].(string)
		state["size"] = nil
		if text != "" {
			size, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("the size %q of version 1 is no number: %w", text, err)
			}
			state["size"] = size
		}
	case 2:
		labels := []any{}
		if text, _ := state["labels"].(string); text != "" {
			for label := range strings.SplitSeq(text, ",") {
				labels = append(labels, label)
			}
		}
		state["labels"] = labels
	}
	return nil
}

// downgradeLegacyState goes from the newest version to an older one.
func downgradeLegacyState(to int64, state map[string]any) {
	if to < 3 {
		words := []string{}
		labels, _ := state["labels"].([]any)
		for _, label := range labels {
			words = append(words, fmt.Sprint(label))
		}
		state["labels"] = strings.Join(words, ",")
	}
	if to < 2 && state["size"] != nil {
		state["size"] = fmt.Sprint(state["size"])
	}
	if to == 0 {
		state["old_title"] = state["title"]
		delete(state, "title")
	}
}
