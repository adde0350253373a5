package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// nestedResource holds nested attributes of all four nestings, which exist in protocol 6 alone, with leaves inside that the provider
// computes, that it fills in where the program is silent, and that are sensitive. They are what proposing a new value, and
// matching the elements of sets, is hardest for.
type nestedResource struct {
	cloud *cloud
}

var (
	_ resource.ResourceWithConfigure   = (*nestedResource)(nil)
	_ resource.ResourceWithImportState = (*nestedResource)(nil)
)

const nestedKind = "nested"

type nestedModel struct {
	ID     types.String `tfsdk:"id"`
	Name   types.String `tfsdk:"name"`
	Owner  types.Object `tfsdk:"owner"`
	Disks  types.List   `tfsdk:"disks"`
	Mounts types.Set    `tfsdk:"mounts"`
	Zones  types.Map    `tfsdk:"zones"`
	Status types.Object `tfsdk:"status"`
}

type ownerModel struct {
	Name   types.String `tfsdk:"name"`
	Email  types.String `tfsdk:"email"`
	Key    types.String `tfsdk:"key"`
	Number types.Int64  `tfsdk:"number"`
}

type diskModel struct {
	Size       types.Int64  `tfsdk:"size"`
	Label      types.String `tfsdk:"label"`
	Serial     types.String `tfsdk:"serial"`
	Partitions types.List   `tfsdk:"partitions"`
}

type partitionModel struct {
	Path types.String `tfsdk:"path"`
	UUID types.String `tfsdk:"uuid"`
}

type mountModel struct {
	Path   types.String `tfsdk:"path"`
	Mode   types.String `tfsdk:"mode"`
	Ticket types.String `tfsdk:"ticket"`
}

type zoneModel struct {
	Weight  types.Int64  `tfsdk:"weight"`
	Address types.String `tfsdk:"address"`
}

type statusModel struct {
	Phase    types.String `tfsdk:"phase"`
	Revision types.Int64  `tfsdk:"revision"`
}

var (
	ownerTypes = map[string]attr.Type{
		"name": types.StringType, "email": types.StringType, "key": types.StringType, "number": types.Int64Type,
	}
	partitionType = types.ObjectType{AttrTypes: map[string]attr.Type{"path": types.StringType, "uuid": types.StringType}}
	diskType      = types.ObjectType{AttrTypes: map[string]attr.Type{
		"size": types.Int64Type, "label": types.StringType, "serial": types.StringType,
		"partitions": types.ListType{ElemType: partitionType},
	}}
	mountType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"path": types.StringType, "mode": types.StringType, "ticket": types.StringType,
	}}
	zoneType    = types.ObjectType{AttrTypes: map[string]attr.Type{"weight": types.Int64Type, "address": types.StringType}}
	statusTypes = map[string]attr.Type{"phase": types.StringType, "revision": types.Int64Type}
)

// The file of an object: pointers, nil maps and nil slices are nulls. It holds the inputs; what the provider computes follows
// from them.
type nestedObject struct {
	ID       string                `json:"id"`
	Name     string                `json:"name"`
	Owner    *ownerObject          `json:"owner"`
	Disks    []diskObject          `json:"disks"`
	Mounts   []mountObject         `json:"mounts"`
	Zones    map[string]zoneObject `json:"zones"`
	Revision int64                 `json:"revision"`
}

type ownerObject struct {
	Name  string  `json:"name"`
	Email string  `json:"email"`
	Key   *string `json:"key"`
}

type diskObject struct {
	Size       int64    `json:"size"`
	Label      string   `json:"label"`
	Partitions []string `json:"partitions"`
}

type mountObject struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
}

type zoneObject struct {
	Weight *int64 `json:"weight"`
}

func (*nestedResource) Metadata(_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_nested"
}

func (*nestedResource) Schema(_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "Nested attributes of all kinds.",
		Attributes: map[string]schema.Attribute{
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
			"owner": schema.SingleNestedAttribute{
				Optional:    true,
				Description: "One object.",
				Attributes: map[string]schema.Attribute{
					"name":   schema.StringAttribute{Required: true, Description: "Name of the owner."},
					"email":  schema.StringAttribute{Optional: true, Computed: true, Description: "NAME@example.test where the program is silent."},
					"key":    schema.StringAttribute{Optional: true, Sensitive: true, Description: "A sensitive input inside an object."},
					"number": schema.Int64Attribute{Computed: true, Description: "Length of the name."},
				},
			},
			"disks": schema.ListNestedAttribute{
				Optional:    true,
				Description: "A list of objects.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"size": schema.Int64Attribute{Required: true, Description: "Size of the disk."},
					"label": schema.StringAttribute{
						Optional:    true,
						Computed:    true,
						Default:     stringdefault.StaticString("data"),
						Description: "Label, with a default.",
					},
					"serial": schema.StringAttribute{
						Computed:      true,
						Description:   "Computed once for each position.",
						PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
					},
					"partitions": schema.ListNestedAttribute{
						Optional:    true,
						Description: "Objects in objects.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"path": schema.StringAttribute{Required: true, Description: "Where it is mounted."},
							"uuid": schema.StringAttribute{Computed: true, Description: "Computed from the path."},
						}},
					},
				}},
			},
			"mounts": schema.SetNestedAttribute{
				Optional:    true,
				Description: "A set of objects.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"path":   schema.StringAttribute{Required: true, Description: "Where it is mounted."},
					"mode":   schema.StringAttribute{Optional: true, Computed: true, Description: "`rw` where the program is silent."},
					"ticket": schema.StringAttribute{Computed: true, Sensitive: true, Description: "A sensitive output inside a set."},
				}},
			},
			"zones": schema.MapNestedAttribute{
				Optional:    true,
				Description: "A map of objects.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"weight":  schema.Int64Attribute{Optional: true, Description: "Weight of the zone."},
					"address": schema.StringAttribute{Computed: true, Description: "Computed from the key."},
				}},
			},
			"status": schema.SingleNestedAttribute{
				Computed:    true,
				Description: "An object that is computed as a whole.",
				Attributes: map[string]schema.Attribute{
					"phase":    schema.StringAttribute{Computed: true, Description: "Always `ready`."},
					"revision": schema.Int64Attribute{Computed: true, Description: "How often it was written."},
				},
			},
		},
	}
}

func (n *nestedResource) Configure(_ context.Context, request resource.ConfigureRequest, response *resource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	n.cloud = configured
}

func (n *nestedResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	var plan nestedModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	converter := converter{ctx: ctx, diagnostics: &response.Diagnostics}
	object := converter.object(plan)
	if response.Diagnostics.HasError() {
		return
	}
	_, err := n.cloud.objects().Create(nestedKind, object.Name, func(id string) any {
		object.ID, object.Revision = id, 1
		return object
	})
	if addError(&response.Diagnostics, "The object could not be created", err); err != nil {
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, converter.model(object))...)
}

func (n *nestedResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var state nestedModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	var object nestedObject
	found, err := n.cloud.objects().Read(nestedKind, state.ID.ValueString(), &object)
	if addError(&response.Diagnostics, "The object could not be read", err); err != nil {
		return
	}
	if !found {
		response.State.RemoveResource(ctx)
		return
	}
	converter := converter{ctx: ctx, diagnostics: &response.Diagnostics}
	response.Diagnostics.Append(response.State.Set(ctx, converter.model(object))...)
}

func (n *nestedResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	var plan nestedModel
	response.Diagnostics.Append(request.Plan.Get(ctx, &plan)...)
	converter := converter{ctx: ctx, diagnostics: &response.Diagnostics}
	object := converter.object(plan)
	if response.Diagnostics.HasError() {
		return
	}

	object.ID = plan.ID.ValueString()
	var former nestedObject
	found, err := n.cloud.objects().Read(nestedKind, object.ID, &former)
	if err == nil && !found {
		err = fmt.Errorf("there is no object %s", object.ID)
	}
	if err == nil {
		object.Revision = former.Revision + 1
		err = n.cloud.objects().Write(nestedKind, object.ID, object)
	}
	if addError(&response.Diagnostics, "The object could not be written", err); err != nil {
		return
	}
	response.Diagnostics.Append(response.State.Set(ctx, converter.model(object))...)
}

func (n *nestedResource) Delete(ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse) {
	var state nestedModel
	response.Diagnostics.Append(request.State.Get(ctx, &state)...)
	if response.Diagnostics.HasError() {
		return
	}
	err := n.cloud.objects().Remove(nestedKind, state.ID.ValueString())
	addError(&response.Diagnostics, "The object could not be deleted", err)
}

func (n *nestedResource) ImportState(ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), request, response)
}
