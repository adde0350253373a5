package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// legacyKeeper is to the older SDK what keeper is to the framework: a resource whose object is its state.
type legacyKeeper struct {
	// kind is the type's name without the provider's, and the folder of the objects.
	kind string

	// schema has the attribute `name` besides its own.
	schema map[string]*schema.Schema

	// finish fills in what the provider computes, in what will be kept.
	finish func(data *schema.ResourceData, object *legacyKept)

	// adapt, if set, turns what a file holds into what the schema says.
	adapt func(state map[string]any)

	// identify, if set, says what the resource's identity is.
	identify func(data *schema.ResourceData, object legacyKept) error

	// unread are attributes that a read leaves alone.
	unread []string
}

// legacyKept is what a file holds.
type legacyKept struct {
	ID       string         `json:"id"`
	Revision int64          `json:"revision"`
	State    map[string]any `json:"state"`
	Notes    map[string]any `json:"notes,omitempty"`
}

// resource completes a description with the keeper's schema and operations, where it has none of its own.
func (k *legacyKeeper) resource(of *schema.Resource) *schema.Resource {
	k.schema["name"] = &schema.Schema{Type: schema.TypeString, Required: true, ForceNew: true, Description: "What the id starts with."}
	of.Schema = k.schema
	if of.CreateContext == nil {
		of.CreateContext = k.create
	}
	if of.ReadContext == nil {
		of.ReadContext = k.read
	}
	if of.UpdateContext == nil {
		of.UpdateContext = k.update
	}
	if of.DeleteContext == nil {
		of.DeleteContext = k.delete
	}
	if of.Importer == nil {
		of.Importer = &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext}
	}
	return of
}

func (k *legacyKeeper) create(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	name, _ := data.Get("name").(string)
	var object legacyKept
	id, err := storeOf(meta).Create(k.kind, name, func(id string) any {
		object = legacyKept{ID: id, Revision: 1}
		k.take(data, &object)
		return object
	})
	if err != nil {
		return diag.FromErr(err)
	}
	data.SetId(id)
	return diag.FromErr(k.show(data, object))
}

func (k *legacyKeeper) read(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	var object legacyKept
	found, err := storeOf(meta).Read(k.kind, data.Id(), &object)
	if err != nil {
		return diag.FromErr(err)
	}
	if !found {
		data.SetId("")
		return nil
	}
	for _, name := range k.unread {
		delete(object.State, name)
	}
	return diag.FromErr(k.show(data, object))
}

func (k *legacyKeeper) update(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	var object legacyKept
	found, err := storeOf(meta).Read(k.kind, data.Id(), &object)
	if err == nil && !found {
		err = fmt.Errorf("there is no object %s to update", data.Id())
	}
	if err != nil {
		return diag.FromErr(err)
	}
	object.Revision++
	k.take(data, &object)
	if err := storeOf(meta).Write(k.kind, object.ID, object); err != nil {
		return diag.FromErr(err)
	}
	return diag.FromErr(k.show(data, object))
}

func (k *legacyKeeper) delete(_ context.Context, data *schema.ResourceData, meta any) diag.Diagnostics {
	return diag.FromErr(storeOf(meta).Remove(k.kind, data.Id()))
}

// take makes what was planned the object's state.
func (k *legacyKeeper) take(data *schema.ResourceData, object *legacyKept) {
	object.State = map[string]any{}
	for name := range k.schema {
		object.State[name] = plainValue(data.Get(name))
	}
	if k.finish != nil {
		k.finish(data, object)
	}
}

// show makes the object's state the resource's.
func (k *legacyKeeper) show(data *schema.ResourceData, object legacyKept) error {
	if k.adapt != nil {
		k.adapt(object.State)
	}
	for name, value := range object.State {
		described, known := k.schema[name]
		if !known {
			continue
		}
		if err := data.Set(name, legacyValue(described, value)); err != nil {
			return fmt.Errorf("the file of %s does not fit the schema: %w", object.ID, err)
		}
	}
	if k.identify != nil {
		return k.identify(data, object)
	}
	return nil
}

func (o *legacyKept) note(name string, value any) {
	if o.Notes == nil {
		o.Notes = map[string]any{}
	}
	o.Notes[name] = value
}

// plainValue is a value of the SDK without the SDK's own types, which JSON does not know.
func plainValue(value any) any {
	switch value := value.(type) {
	case *schema.Set:
		return plainValue(value.List())
	case []any:
		plain := []any{}
		for _, element := range value {
			plain = append(plain, plainValue(element))
		}
		return plain
	case map[string]any:
		plain := map[string]any{}
		for name, member := range value {
			plain[name] = plainValue(member)
		}
		return plain
	default:
		return value
	}
}

// legacyValue is what JSON decoded, in the types that the SDK wants.
func legacyValue(described *schema.Schema, value any) any {
	switch value := value.(type) {
	case json.Number:
		if described.Type == schema.TypeFloat {
			number, _ := value.Float64()
			return number
		}
		number, _ := value.Int64()
		return int(number)
	case []any:
		converted := []any{}
		for _, element := range value {
			converted = append(converted, legacyElement(described.Elem, element))
		}
		return converted
	case map[string]any:
		converted := map[string]any{}
		for name, member := range value {
			converted[name] = legacyElement(described.Elem, member)
		}
		return converted
	default:
		return value
	}
}

func legacyElement(described, value any) any {
	switch described := described.(type) {
	case *schema.Schema:
		return legacyValue(described, value)
	case *schema.Resource:
		members, _ := value.(map[string]any)
		converted := map[string]any{}
		for name, member := range members {
			if inner, known := described.Schema[name]; known {
				converted[name] = legacyValue(inner, member)
			}
		}
		return converted
	default:
		return value
	}
}
