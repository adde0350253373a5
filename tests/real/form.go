package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What `tofu providers schema -json` prints.
type (
	schemas map[string]block
	block   struct {
		Attributes map[string]attribute
		Blocks     map[string]nested `json:"block_types"`
	}
	attribute struct {
		Type   json.RawMessage
		Nested *nestedType `json:"nested_type"`
	}
	nestedType struct {
		Attributes map[string]attribute
		Mode       string `json:"nesting_mode"`
	}
	nested struct {
		Mode     string `json:"nesting_mode"`
		Block    block
		MaxItems int `json:"max_items"`
	}
)

// A set is a list without an order.
type set []any

// form brings values into the form of the provider's schema: with its names, with sets marked, without nulls. OpenTofu's are in
// it but for that; of isthmus's, names are Pulumi's, and what is at most one block is no list.
type form struct {
	// Whether the names are the schema's own.
	own bool
	// The Pulumi name of what the schema calls `id`, where that can be set: an output `id` is Pulumi's.
	id      string
	secret  map[string]bool
	strange []string
}

// names are the names that an attribute may have, the likely one first.
func (form *form) names(name string, many bool) []string {
	if form.own {
		return []string{name}
	}
	plain := camel(name)
	if !many {
		return []string{plain}
	}
	forms := []string{plain + "s", plain + "es", plain}
	if strings.HasSuffix(plain, "y") {
		forms = append([]string{strings.TrimSuffix(plain, "y") + "ies"}, forms...)
	}
	return forms
}

func (form *form) block(value map[string]any, block block, path string) map[string]any {
	made, used := map[string]any{}, map[string]bool{}
	find := func(name string, many bool) any {
		names := form.names(name, many)
		if name == "id" && path == "" && !form.own {
			names = []string{form.id, "id"}
			used["id"] = true
		}
		for _, name := range names {
			if found, there := value[name]; there {
				used[name] = true
				return found
			}
		}
		return nil
	}
	for name, attribute := range block.Attributes {
		at := join(path, name)
		many := attribute.many()
		if inner := form.attribute(find(name, many), attribute, at); inner != nil {
			made[name] = inner
		}
	}
	for name, nested := range block.Blocks {
		at := join(path, name)
		repeated := nested.Mode == "list" || nested.Mode == "set"
		inner := form.open(find(name, repeated && nested.MaxItems != 1), at)
		if !repeated {
			if inner, is := inner.(map[string]any); is {
				made[name] = form.block(inner, nested.Block, at)
			} else if inner != nil {
				form.note("%s is no block: %s", at, shown(inner))
			}
			continue
		}
		elements, is := inner.([]any)
		if !is && inner != nil {
			elements = []any{inner}
		}
		if is && nested.MaxItems == 1 && !form.own {
			form.note("%s is at most one block, and a list of isthmus", at)
		}
		all := []any{}
		for _, element := range elements {
			element, _ := form.open(element, at+"[]").(map[string]any)
			all = append(all, form.block(element, nested.Block, at+"[]"))
		}
		made[name] = all
		if nested.Mode == "set" {
			made[name] = set(all)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if !used[name] && value[name] != nil {
			form.note("%s is nothing of the schema: %s", join(path, name), shown(value[name]))
		}
	}
	return made
}

func (form *form) attribute(value any, attribute attribute, path string) any {
	if attribute.Nested == nil {
		var kind any
		_ = json.Unmarshal(attribute.Type, &kind)
		return form.value(value, kind, path)
	}
	value = form.open(value, path)
	inner := block{Attributes: attribute.Nested.Attributes}
	switch value := value.(type) {
	case []any:
		all := []any{}
		for _, element := range value {
			element, _ := form.open(element, path+"[]").(map[string]any)
			all = append(all, form.block(element, inner, path+"[]"))
		}
		if attribute.Nested.Mode == "set" {
			return set(all)
		}
		return all
	case map[string]any:
		if attribute.Nested.Mode == "single" {
			return form.block(value, inner, path)
		}
		made := map[string]any{}
		for name, element := range value {
			element, _ := form.open(element, join(path, name)).(map[string]any)
			made[name] = form.block(element, inner, join(path, name))
		}
		return made
	}
	return value
}

// value brings a value of a cty type, as JSON has it, into the form.
func (form *form) value(value, kind any, path string) any {
	value = form.open(value, path)
	parts, compound := kind.([]any)
	if value == nil || !compound {
		return value
	}
	switch value := value.(type) {
	case []any:
		all := make([]any, len(value))
		for index, element := range value {
			all[index] = form.value(element, parts[1], path+"[]")
		}
		if parts[0] == "set" {
			return set(all)
		}
		return all
	case map[string]any:
		if members, is := parts[1].(map[string]any); is && parts[0] == "object" {
			attributes := map[string]attribute{}
			for name, kind := range members {
				text, _ := json.Marshal(kind)
				attributes[name] = attribute{Type: text}
			}
			return form.block(value, block{Attributes: attributes}, path)
		}
		made := map[string]any{}
		for name, element := range value {
			if inner := form.value(element, parts[1], join(path, name)); inner != nil {
				made[name] = inner
			}
		}
		return made
	}
	return value
}

// open returns what is in a secret.
func (form *form) open(value any, path string) any {
	fields, is := value.(map[string]any)
	if !is || fields[signature] != secretSignature {
		return value
	}
	form.secret[path] = true
	var inner any
	text, _ := fields["plaintext"].(string)
	if err := json.Unmarshal([]byte(text), &inner); err != nil {
		form.note("%s is a secret that is no JSON", path)
	}
	return inner
}

func (form *form) note(format string, arguments ...any) {
	form.strange = append(form.strange, fmt.Sprintf(format, arguments...))
}

// many says whether an attribute's Pulumi name is a plural.
func (attribute attribute) many() bool {
	if attribute.Nested != nil {
		return attribute.Nested.Mode == "list" || attribute.Nested.Mode == "set"
	}
	return strings.HasPrefix(string(attribute.Type), `["list"`) || strings.HasPrefix(string(attribute.Type), `["set"`)
}

// camel is a name of Terraform as Pulumi writes it.
func camel(name string) string {
	words := strings.Split(name, "_")
	for index, word := range words {
		if index > 0 && word != "" {
			words[index] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}
