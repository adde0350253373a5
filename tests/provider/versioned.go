package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// newestVersion is that of the versioned resources' schemas, unless the environment asks for an older one or for abandonedVersion.
const newestVersion = 3

// abandonedVersion has the same attributes as the newest, and nothing upgrades to it.
const abandonedVersion = 4

// schemaVersion reads CONFORMANCE_SCHEMA_VERSION, by which one binary is a provider of several ages.
func schemaVersion(text string) (int64, error) {
	if text == "" {
		return newestVersion, nil
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 0 || version > abandonedVersion {
		return 0, fmt.Errorf("CONFORMANCE_SCHEMA_VERSION is %q; it may be 0 to %d (%d is the default)", text, abandonedVersion, newestVersion)
	}
	return version, nil
}

// versionedResource is the same object in schemas of several ages:
//
//   - 0: a text `old_title`, `size` as a text, `labels` as a text with commas
//   - 1: `old_title` is called `title`
//   - 2: `size` is a number
//   - 3: `labels` is a list
type versionedResource struct {
	keeper
	version int64
}

var (
	_ resource.ResourceWithConfigure    = (*versionedResource)(nil)
	_ resource.ResourceWithImportState  = (*versionedResource)(nil)
	_ resource.ResourceWithUpgradeState = (*versionedResource)(nil)
)

const versionedKind = "versioned"

// versionedObject is the file, which is the same at all ages.
type versionedObject struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Title    *string  `json:"title"`
	Size     *int64   `json:"size"`
	Labels   []string `json:"labels"`
	Revision int64    `json:"revision"`
}

func newVersionedResource(version int64) resource.Resource {
	return &versionedResource{version: version, keeper: keeper{kind: versionedKind, schema: func(context.Context) schema.Schema {
		return versionedSchema(version)
	}}}
}

func versionedSchema(version int64) schema.Schema {
	attributes := map[string]schema.Attribute{
		"title": schema.StringAttribute{Optional: true, Description: "A text; `refuse` cannot be upgraded, and `warn` with a warning only."},
		"origin": schema.StringAttribute{
			Computed: true, Description: "Which version of the schema it was made with, or upgraded from.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
	}
	if version == 0 {
		attributes["old_title"] = attributes["title"]
		delete(attributes, "title")
	}
	if version < 2 {
		attributes["size"] = schema.StringAttribute{Optional: true, Description: "A number as a text."}
	} else {
		attributes["size"] = schema.Int64Attribute{Optional: true, Description: "A number."}
	}
	if version < 3 {
		attributes["labels"] = schema.StringAttribute{Optional: true, Description: "Words with commas between."}
	} else {
		attributes["labels"] = schema.ListAttribute{Optional: true, ElementType: types.StringType, Description: "Words."}
	}
	return schema.Schema{
		Version:     version,
		Description: "A resource whose schema has a history.",
		Attributes:  keeperAttributes(attributes),
	}
}

// UpgradeState has an upgrader for each older version, all to the present one, as the framework wants it: the first reads the raw
// state and answers a raw one, the others have schemas.
func (v *versionedResource) UpgradeState(ctx context.Context) map[int64]resource.StateUpgrader {
	upgraders := map[int64]resource.StateUpgrader{}
	for version := int64(0); version < v.version && v.version < abandonedVersion; version++ {
		if version == 0 {
			upgraders[version] = resource.StateUpgrader{StateUpgrader: v.upgradeRaw}
			continue
		}
		prior := versionedSchema(version)
		upgraders[version] = resource.StateUpgrader{PriorSchema: &prior, StateUpgrader: func(ctx context.Context, request resource.UpgradeStateRequest, response *resource.UpgradeStateResponse) {
			response.State.Raw = v.upgrade(ctx, version, request.State.Raw, &response.Diagnostics)
		}}
	}
	return upgraders
}

func (v *versionedResource) upgradeRaw(ctx context.Context, request resource.UpgradeStateRequest, response *resource.UpgradeStateResponse) {
	state, err := raw.FromJSON(versionedType(ctx, 0), request.RawState.JSON)
	if addError(&response.Diagnostics, "The state cannot be read", err); err != nil {
		return
	}
	upgraded := v.upgrade(ctx, 0, state, &response.Diagnostics)
	if response.Diagnostics.HasError() {
		return
	}
	dynamic, err := tfprotov6.NewDynamicValue(versionedType(ctx, v.version), upgraded)
	addError(&response.Diagnostics, "The state cannot be written", err)
	response.DynamicValue = &dynamic
}

func (v *versionedResource) upgrade(ctx context.Context, version int64, state tftypes.Value, diagnostics *diag.Diagnostics) tftypes.Value {
	object, err := versionedFrom(version, state)
	if addError(diagnostics, "The state cannot be upgraded", err); err != nil {
		return state
	}
	if object.Title != nil {
		switch *object.Title {
		case "refuse":
			diagnostics.AddAttributeError(path.Root("title"), "Upgrade refused", "A state of this title cannot be upgraded.")
		case "warn":
			diagnostics.AddAttributeWarning(path.Root("title"), "Upgrade doubtful", "A state of this title is better not upgraded.")
		}
	}
	return object.state(ctx, v.version, tftypes.NewValue(tftypes.String, fmt.Sprintf("upgraded from version %d", version)))
}

func (v *versionedResource) Create(ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse) {
	object, err := versionedFrom(v.version, request.Plan.Raw)
	if err == nil {
		_, err = v.cloud.objects().Create(v.kind, object.Name, func(id string) any {
			object.ID, object.Revision = id, 1
			return object
		})
	}
	if addError(&response.Diagnostics, "The object could not be created", err); err == nil {
		response.State.Raw = object.state(ctx, v.version, tftypes.NewValue(tftypes.String, fmt.Sprintf("made with version %d", v.version)))
	}
}

func (v *versionedResource) Read(ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse) {
	var object versionedObject
	found, err := v.cloud.objects().Read(v.kind, idIn(request.State.Raw), &object)
	if addError(&response.Diagnostics, "The object could not be read", err); err != nil {
		return
	}
	if !found {
		response.State.RemoveResource(ctx)
		return
	}
	members, _ := raw.Members(request.State.Raw)
	response.State.Raw = object.state(ctx, v.version, members["origin"])
}

func (v *versionedResource) Update(ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse) {
	object, err := versionedFrom(v.version, request.Plan.Raw)
	var former versionedObject
	var found bool
	if err == nil {
		found, err = v.cloud.objects().Read(v.kind, object.ID, &former)
	}
	if err == nil && !found {
		err = fmt.Errorf("there is no object %s to update", object.ID)
	}
	if err == nil {
		object.Revision = former.Revision + 1
		err = v.cloud.objects().Write(v.kind, object.ID, object)
	}
	if addError(&response.Diagnostics, "The object could not be updated", err); err == nil {
		members, _ := raw.Members(request.Plan.Raw)
		response.State.Raw = object.state(ctx, v.version, members["origin"])
	}
}

func versionedType(ctx context.Context, version int64) tftypes.Object {
	// The type of a schema is an object's.
	of, _ := versionedSchema(version).Type().TerraformType(ctx).(tftypes.Object)
	return of
}

// versionedFrom reads a plan or a state of one version.
func versionedFrom(version int64, value tftypes.Value) (versionedObject, error) {
	members, _ := raw.Members(value)
	object := versionedObject{ID: raw.Text(members["id"]), Name: raw.Text(members["name"])}
	title := "title"
	if version == 0 {
		title = "old_title"
	}
	if !members[title].IsNull() {
		text := raw.Text(members[title])
		object.Title = &text
	}
	var problems []error
	if size := members["size"]; !size.IsNull() {
		number := new(big.Float)
		if version < 2 {
			_, err := fmt.Sscan(raw.Text(size), number)
			problems = append(problems, err)
		} else {
			problems = append(problems, size.As(&number))
		}
		whole, _ := number.Int64()
		object.Size = &whole
	}
	if labels := members["labels"]; !labels.IsNull() {
		object.Labels = []string{}
		if version < 3 {
			object.Labels = append(object.Labels, strings.Split(raw.Text(labels), ",")...)
		}
		elements, _ := raw.Elements(labels)
		for _, element := range elements {
			object.Labels = append(object.Labels, raw.Text(element))
		}
	}
	return object, errors.Join(problems...)
}

// state shows the object as a version does.
func (o versionedObject) state(ctx context.Context, version int64, origin tftypes.Value) tftypes.Value {
	title := "title"
	if version == 0 {
		title = "old_title"
	}
	members := map[string]tftypes.Value{
		"id":     tftypes.NewValue(tftypes.String, o.ID),
		"name":   tftypes.NewValue(tftypes.String, o.Name),
		title:    tftypes.NewValue(tftypes.String, o.Title),
		"origin": origin,
	}
	if version < 2 {
		members["size"] = tftypes.NewValue(tftypes.String, nil)
		if o.Size != nil {
			members["size"] = tftypes.NewValue(tftypes.String, strconv.FormatInt(*o.Size, 10))
		}
	} else {
		members["size"] = tftypes.NewValue(tftypes.Number, o.Size)
	}
	switch {
	case version < 3 && o.Labels == nil:
		members["labels"] = tftypes.NewValue(tftypes.String, nil)
	case version < 3:
		members["labels"] = tftypes.NewValue(tftypes.String, strings.Join(o.Labels, ","))
	case o.Labels == nil:
		members["labels"] = tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, nil)
	default:
		labels := []tftypes.Value{}
		for _, label := range o.Labels {
			labels = append(labels, tftypes.NewValue(tftypes.String, label))
		}
		members["labels"] = tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, labels)
	}
	return tftypes.NewValue(versionedType(ctx, version), members)
}
