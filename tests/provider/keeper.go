package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// keeper is a resource whose object is its state: what is configured is kept, what is computed is made up. Resources that exist for
// one feature are made of it, so that their own code is about that feature alone. It reads values without knowing their types; the
// framework around it does all that it does for other resources.
type keeper struct {
	// kind is the type's name without the provider's, and the folder of the objects.
	kind string

	// schema has the attributes `id` and `name` besides its own.
	schema func(context.Context) schema.Schema

	// unseen are attributes that no service would know: a read takes them from the state, not from the object.
	unseen []string

	cloud *cloud
}

var (
	_ resource.ResourceWithConfigure   = (*keeper)(nil)
	_ resource.ResourceWithImportState = (*keeper)(nil)
)

// defaultLevel is the default of attributes called `level`.
const defaultLevel = 7

// keptObject is what a keeper's file holds.
type keptObject struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`

	// State is in the form of Terraform's state files.
	State json.RawMessage `json:"state"`

	// Notes are for tests to read: what no state shows.
	Notes map[string]any `json:"notes,omitempty"`
}

// finish changes what a write will keep: the object, and the members of the state to be.
type finish func(object *keptObject, members map[string]tftypes.Value)

// keeperAttributes are `id`, `name`, and others.
func keeperAttributes(others map[string]schema.Attribute) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:      true,
			Description:   "Name of the object's file, without its ending.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"name": schema.StringAttribute{
			Required:      true,
			Description:   "What the id starts with.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		},
	}
	for name, attribute := range others {
		attributes[name] = attribute
	}
	return attributes
}

func (k *keeper) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_" + k.kind
}

func (k *keeper) Schema(ctx context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = k.schema(ctx)
}

func (k *keeper) Configure(_ context.Context, request resource.ConfigureRequest, response *resource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	k.cloud = configured
}

func (k *keeper) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	k.create(ctx, request, response, nil)
}

func (k *keeper) create(_ context.Context, request resource.CreateRequest, response *resource.CreateResponse, finish finish) {
	members, _ := raw.Members(request.Plan.Raw)
	var state tftypes.Value
	var failure error
	_, err := k.cloud.objects().Create(k.kind, raw.Text(members["name"]), func(id string) any {
		object := keptObject{ID: id, Revision: 1}
		state, failure = object.take(request.Plan.Raw, finish)
		return object
	})
	addError(&response.Diagnostics, "The object could not be created", errors.Join(err, failure))
	if !response.Diagnostics.HasError() {
		response.State.Raw = state
	}
}

func (k *keeper) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	object, state, err := k.load(ctx, request.State)
	if addError(&response.Diagnostics, "The object could not be read", err); err != nil {
		return
	}
	if object == nil {
		response.State.RemoveResource(ctx)
		return
	}
	response.State.Raw = state
}

func (k *keeper) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	k.update(ctx, request, response, nil)
}

func (k *keeper) update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse, finish finish) {
	object, _, err := k.load(ctx, request.State)
	if err == nil && object == nil {
		err = fmt.Errorf("there is no object %s to update", idIn(request.State.Raw))
	}
	if addError(&response.Diagnostics, "The object could not be updated", err); err != nil {
		return
	}
	object.Revision++
	state, err := object.take(request.Plan.Raw, finish)
	if err == nil {
		err = k.cloud.objects().Write(k.kind, object.ID, object)
	}
	if addError(&response.Diagnostics, "The object could not be updated", err); err != nil {
		return
	}
	response.State.Raw = state
}

func (k *keeper) Delete(_ context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	err := k.cloud.objects().Remove(k.kind, idIn(request.State.Raw))
	addError(&response.Diagnostics, "The object could not be deleted", err)
}

// ImportState takes the id alone; the read that follows fills in the rest.
func (k *keeper) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), request, response)
}

// load returns the object of a state, and the state that it has now; no object where there is none.
func (k *keeper) load(ctx context.Context, state tfsdk.State) (*keptObject, tftypes.Value, error) {
	var object keptObject
	found, err := k.cloud.objects().Read(k.kind, idIn(state.Raw), &object)
	if err != nil || !found {
		return nil, state.Raw, err
	}
	of, ok := state.Schema.Type().TerraformType(ctx).(tftypes.Object)
	if !ok {
		return nil, state.Raw, errors.New("a schema is no object")
	}
	current, err := raw.FromJSON(of, object.State)
	if err != nil {
		return nil, state.Raw, fmt.Errorf("the file of %s does not fit the schema: %w", object.ID, err)
	}
	members, _ := raw.Members(current)
	former, _ := raw.Members(state.Raw)
	for _, name := range k.unseen {
		members[name] = former[name]
	}
	return &object, tftypes.NewValue(of, members), nil
}

// take makes a plan the object's state, with the unknown made up.
func (o *keptObject) take(plan tftypes.Value, finish finish) (tftypes.Value, error) {
	planned, _ := raw.Members(plan)
	members := map[string]tftypes.Value{}
	for name, value := range planned {
		members[name] = o.known(name, value)
	}
	members["id"] = tftypes.NewValue(tftypes.String, o.ID)
	if finish != nil {
		finish(o, members)
	}
	state := tftypes.NewValue(plan.Type(), members)
	content, err := raw.ToJSON(plan.Type(), state)
	if err != nil {
		return state, err
	}
	o.State, err = json.Marshal(content)
	return state, err
}

// known is the value without unknowns. What is called `fresh` tells the revision; where an object has a `text`, what else is
// computed in it tells that text, so that a test sees whether computed values landed on the right element of a set.
func (o *keptObject) known(path string, value tftypes.Value) tftypes.Value {
	if value.IsFullyKnown() {
		return value
	}
	if !value.IsKnown() {
		return raw.Make(path, value.Type(), o.madeUp)
	}
	if elements, ok := raw.Elements(value); ok {
		known := []tftypes.Value{}
		for i, element := range elements {
			step := fmt.Sprint(i)
			if value.Type().Is(tftypes.Set{}) {
				step = "*"
			}
			known = append(known, o.known(path+"."+step, element))
		}
		return tftypes.NewValue(value.Type(), known)
	}
	members, _ := raw.Members(value)
	known := map[string]tftypes.Value{}
	for name, member := range members {
		text := raw.Text(members["text"])
		if text != "" && !member.IsKnown() && member.Type().Is(tftypes.String) {
			known[name] = tftypes.NewValue(tftypes.String, name+" of "+text)
		} else {
			known[name] = o.known(path+"."+name, member)
		}
	}
	return tftypes.NewValue(value.Type(), known)
}

// madeUp is a primitive that the provider chooses: always the same, but in `fresh`. A `level` is what attributes of that name have for
// a default, so that a default inside of something made up changes nothing.
func (o *keptObject) madeUp(path string, of tftypes.Type) any {
	fresh := path == "fresh" || strings.HasPrefix(path, "fresh.")
	switch {
	case strings.HasSuffix(path, ".level"):
		return big.NewFloat(defaultLevel)
	case of.Is(tftypes.Number) && fresh:
		return new(big.Float).SetInt64(o.Revision)
	case of.Is(tftypes.Number):
		return big.NewFloat(42)
	case of.Is(tftypes.Bool):
		return !fresh || o.Revision%2 == 1
	case fresh:
		return fmt.Sprintf("v%d", o.Revision)
	default:
		return "made up: " + path
	}
}

// note adds to what only tests see.
func (o *keptObject) note(name string, value any) {
	if o.Notes == nil {
		o.Notes = map[string]any{}
	}
	o.Notes[name] = value
}

// idIn is the `id` of a state.
func idIn(state tftypes.Value) string {
	members, _ := raw.Members(state)
	return raw.Text(members["id"])
}
