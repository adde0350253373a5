package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/numberplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// newestIdentity is the version of the passport's identity, unless CONFORMANCE_IDENTITY_VERSION asks for an older one.
const newestIdentity = 3

func identityVersion(text string) (int64, error) {
	if text == "" {
		return newestIdentity, nil
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 0 || version > newestIdentity {
		return 0, fmt.Errorf("CONFORMANCE_IDENTITY_VERSION is %q; it may be 0 to %d (the default)", text, newestIdentity)
	}
	return version, nil
}

// passportResource has an identity with a history:
//
//   - 0: a text `code`, which is the id
//   - 1: `code` is called `id`
//   - 2: a text `serial` besides
//   - 3: `serial` is a number, and an attribute of each type that identities know
type passportResource struct {
	keeper
	version int64
}

var (
	_ resource.ResourceWithConfigure       = (*passportResource)(nil)
	_ resource.ResourceWithIdentity        = (*passportResource)(nil)
	_ resource.ResourceWithImportState     = (*passportResource)(nil)
	_ resource.ResourceWithUpgradeIdentity = (*passportResource)(nil)
)

const passportKind = "passport"

func newPassportResource(version int64) resource.Resource {
	return &passportResource{version: version, keeper: keeper{kind: passportKind, schema: passportSchema}}
}

func passportSchema(context.Context) schema.Schema {
	return schema.Schema{
		Description: "A resource with an identity that has a history.",
		Attributes: keeperAttributes(map[string]schema.Attribute{
			"serial": schema.Int64Attribute{
				Computed: true, Description: "The number at the end of the id.",
				PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
			},
			"official": schema.BoolAttribute{
				Optional: true, Description: "A part of the identity.",
				PlanModifiers: []planmodifier.Bool{boolplanmodifier.RequiresReplace()},
			},
			"weight": schema.NumberAttribute{
				Optional: true, Description: "A part of the identity, in four of its types.",
				PlanModifiers: []planmodifier.Number{numberplanmodifier.RequiresReplace()},
			},
			"places": schema.ListAttribute{
				Optional: true, ElementType: types.StringType, Description: "A part of the identity.",
				PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplace()},
			},
			"note": schema.StringAttribute{
				Optional: true, Description: "Something to change; `forge` changes the identity as well, which none may do.",
			},
		}),
	}
}

func (p *passportResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, response *resource.IdentitySchemaResponse) {
	response.IdentitySchema = passportIdentitySchema(p.version)
}

func passportIdentitySchema(version int64) identityschema.Schema {
	id := identityschema.StringAttribute{RequiredForImport: true, Description: "The id."}
	attributes := map[string]identityschema.Attribute{"id": id}
	switch version {
	case 0:
		attributes = map[string]identityschema.Attribute{"code": id}
	case 1:
	case 2:
		attributes["serial"] = identityschema.StringAttribute{OptionalForImport: true, Description: "A number as a text."}
	default:
		attributes["serial"] = identityschema.Int64Attribute{OptionalForImport: true, Description: "The number at the end of the id."}
		attributes["official"] = identityschema.BoolAttribute{OptionalForImport: true, Description: "A truth value."}
		attributes["places"] = identityschema.ListAttribute{OptionalForImport: true, ElementType: types.StringType, Description: "A list."}
		attributes["weight"] = identityschema.NumberAttribute{OptionalForImport: true, Description: "A number of any size."}
		attributes["weight_int32"] = identityschema.Int32Attribute{OptionalForImport: true, Description: "Its whole part."}
		attributes["weight_float32"] = identityschema.Float32Attribute{OptionalForImport: true, Description: "The half of its whole part."}
		attributes["weight_float64"] = identityschema.Float64Attribute{OptionalForImport: true, Description: "The half of its whole part."}
	}
	return identityschema.Schema{Version: version, Attributes: attributes}
}

// UpgradeIdentity has an upgrader for each older version, all to the present one; the first reads the raw identity.
func (p *passportResource) UpgradeIdentity(ctx context.Context) map[int64]resource.IdentityUpgrader {
	upgraders := map[int64]resource.IdentityUpgrader{}
	for version := int64(0); version < p.version; version++ {
		upgrader := resource.IdentityUpgrader{IdentityUpgrader: func(ctx context.Context, request resource.UpgradeIdentityRequest, response *resource.UpgradeIdentityResponse) {
			p.upgrade(ctx, request, response)
		}}
		if version > 0 {
			prior := passportIdentitySchema(version)
			upgrader.PriorSchema = &prior
		}
		upgraders[version] = upgrader
	}
	return upgraders
}

// upgrade keeps the id, and looks up what an older identity could not know: an upgraded identity has to be what a read will find.
func (p *passportResource) upgrade(ctx context.Context, request resource.UpgradeIdentityRequest, response *resource.UpgradeIdentityResponse) {
	var id string
	if request.Identity == nil {
		var old struct {
			Code string `json:"code"`
		}
		addError(&response.Diagnostics, "The identity cannot be read", json.Unmarshal(request.RawIdentity.JSON, &old))
		id = old.Code
	} else {
		members, _ := raw.Members(request.Identity.Raw)
		id = raw.Text(members["id"])
	}
	if strings.HasPrefix(id, "refuse") {
		response.Diagnostics.AddError("Upgrade refused", "An identity with this id cannot be upgraded.")
	}
	members, err := p.find(ctx, id)
	if addError(&response.Diagnostics, "The passport could not be read", err); !response.Diagnostics.HasError() {
		response.Identity.Raw = p.identity(ctx, id, members)
	}
}

func (p *passportResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	p.create(ctx, request, response, finishSerial)
	p.identify(ctx, response.State, response.Identity)
}

func (p *passportResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	p.keeper.Read(ctx, request, response)
	p.identify(ctx, response.State, response.Identity)
}

func (p *passportResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	p.update(ctx, request, response, finishSerial)
	members, _ := raw.Members(response.State.Raw)
	if raw.Text(members["note"]) == "forge" {
		response.Identity.Raw = p.identity(ctx, "forged", members)
	}
}

// ImportState takes the id, or the identity, of which all that is given has to be right.
func (p *passportResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	if request.ID != "" || request.Identity == nil {
		p.keeper.ImportState(ctx, request, response)
		return
	}
	given, _ := raw.Members(request.Identity.Raw)
	id := raw.Text(given["id"])
	if p.version == 0 {
		id = raw.Text(given["code"])
	}
	members, err := p.find(ctx, id)
	if err == nil && members == nil {
		err = fmt.Errorf("there is no passport %s", id)
	}
	if addError(&response.Diagnostics, "The passport cannot be imported", err); err != nil {
		return
	}
	response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("id"), id)...)
	actual, _ := raw.Members(p.identity(ctx, id, members))
	for name, value := range given {
		if !value.IsNull() && !value.Equal(actual[name]) {
			response.Diagnostics.AddError("Not that passport", fmt.Sprintf("The passport %s has another %s.", id, name))
		}
	}
}

// find returns the members of a passport's state; none where there is no such passport.
func (p *passportResource) find(ctx context.Context, id string) (map[string]tftypes.Value, error) {
	var object keptObject
	found, err := p.cloud.objects().Read(p.kind, id, &object)
	if err != nil || !found {
		return nil, err
	}
	// The type of a schema is an object's.
	of, _ := passportSchema(ctx).Type().TerraformType(ctx).(tftypes.Object)
	state, err := raw.FromJSON(of, object.State)
	members, _ := raw.Members(state)
	return members, err
}

// identify sets the identity of a state; of a resource that is gone there is none.
func (p *passportResource) identify(ctx context.Context, state tfsdk.State, identity *tfsdk.ResourceIdentity) {
	if members, ok := raw.Members(state.Raw); ok && identity != nil {
		identity.Raw = p.identity(ctx, raw.Text(members["id"]), members)
	}
}

// identity is what the attributes of a state make.
func (p *passportResource) identity(ctx context.Context, id string, state map[string]tftypes.Value) tftypes.Value {
	text := tftypes.NewValue(tftypes.String, id)
	serial := id[strings.LastIndexByte(id, '-')+1:]
	members := map[string]tftypes.Value{"id": text}
	switch p.version {
	case 0:
		members = map[string]tftypes.Value{"code": text}
	case 1:
	case 2:
		members["serial"] = tftypes.NewValue(tftypes.String, serial)
	default:
		members["serial"] = serialOf(id)
		members["official"] = orNull(state["official"], tftypes.Bool)
		members["places"] = orNull(state["places"], tftypes.List{ElementType: tftypes.String})
		members["weight"] = orNull(state["weight"], tftypes.Number)
		var whole, half any
		if weight := members["weight"]; !weight.IsNull() {
			number := new(big.Float)
			// A known number always is one.
			_ = weight.As(&number)
			part, _ := number.Int64()
			whole, half = part, float64(part)/2
		}
		members["weight_int32"] = tftypes.NewValue(tftypes.Number, whole)
		members["weight_float32"] = tftypes.NewValue(tftypes.Number, half)
		members["weight_float64"] = tftypes.NewValue(tftypes.Number, half)
	}
	return tftypes.NewValue(passportIdentitySchema(p.version).Type().TerraformType(ctx), members)
}

func orNull(value tftypes.Value, of tftypes.Type) tftypes.Value {
	if value.Type() == nil {
		return tftypes.NewValue(of, nil)
	}
	return value
}

// serialOf is the number at the end of an id, null where there is none.
func serialOf(id string) tftypes.Value {
	serial, err := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64)
	if err != nil {
		return tftypes.NewValue(tftypes.Number, nil)
	}
	return tftypes.NewValue(tftypes.Number, serial)
}

func finishSerial(object *keptObject, members map[string]tftypes.Value) {
	members["serial"] = serialOf(object.ID)
}

// nomadResource has an identity that may change: a city is a part of it.
type nomadResource struct {
	keeper
}

var (
	_ resource.ResourceWithConfigure   = (*nomadResource)(nil)
	_ resource.ResourceWithIdentity    = (*nomadResource)(nil)
	_ resource.ResourceWithImportState = (*nomadResource)(nil)
)

type nomadIdentity struct {
	ID   types.String `tfsdk:"id"`
	City types.String `tfsdk:"city"`
}

func newNomadResource() resource.Resource {
	return &nomadResource{keeper{kind: "nomad", schema: func(context.Context) schema.Schema {
		return schema.Schema{
			Description: "A resource whose identity changes.",
			Attributes: keeperAttributes(map[string]schema.Attribute{
				"city": schema.StringAttribute{Required: true, Description: "Where it is, which is a part of its identity."},
			}),
		}
	}}}
}

func (n *nomadResource) Metadata(ctx context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	n.keeper.Metadata(ctx, request, response)
	response.ResourceBehavior.MutableIdentity = true
}

func (n *nomadResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, response *resource.IdentitySchemaResponse) {
	response.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"id":   identityschema.StringAttribute{RequiredForImport: true, Description: "The id."},
		"city": identityschema.StringAttribute{RequiredForImport: true, Description: "Where it is."},
	}}
}

func (n *nomadResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	n.create(ctx, request, response, nil)
	n.identify(ctx, response.State, response.Identity, &response.Diagnostics)
}

func (n *nomadResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	n.keeper.Read(ctx, request, response)
	n.identify(ctx, response.State, response.Identity, &response.Diagnostics)
}

func (n *nomadResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	n.update(ctx, request, response, nil)
	n.identify(ctx, response.State, response.Identity, &response.Diagnostics)
}

func (n *nomadResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), request, response)
}

func (n *nomadResource) identify(ctx context.Context, state tfsdk.State, identity *tfsdk.ResourceIdentity, diagnostics *diag.Diagnostics) {
	if members, ok := raw.Members(state.Raw); ok && identity != nil && !diagnostics.HasError() {
		diagnostics.Append(identity.Set(ctx, &nomadIdentity{
			ID: types.StringValue(raw.Text(members["id"])), City: types.StringValue(raw.Text(members["city"])),
		})...)
	}
}
