package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// lookupDataSource finds a record by its name.
type lookupDataSource struct {
	cloud *cloud
}

var _ datasource.DataSourceWithConfigure = (*lookupDataSource)(nil)

type lookupModel struct {
	Name   types.String `tfsdk:"name"`
	ID     types.String `tfsdk:"id"`
	Title  types.String `tfsdk:"title"`
	Size   types.Int64  `tfsdk:"size"`
	Tags   types.Map    `tfsdk:"tags"`
	Secret types.String `tfsdk:"secret"`
	Rules  types.List   `tfsdk:"rules"`
	Region types.String `tfsdk:"region"`
}

func (*lookupDataSource) Metadata(_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_lookup"
}

func (*lookupDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "Finds a record by its name; no record, or several, is an error.",
		Attributes: map[string]schema.Attribute{
			"name":   schema.StringAttribute{Required: true, Description: "Name of the record."},
			"id":     schema.StringAttribute{Computed: true, Description: "Its id."},
			"title":  schema.StringAttribute{Computed: true, Description: "Its title."},
			"size":   schema.Int64Attribute{Computed: true, Description: "Its size."},
			"tags":   schema.MapAttribute{Computed: true, ElementType: types.StringType, Description: "Its tags."},
			"secret": schema.StringAttribute{Computed: true, Sensitive: true, Description: "Its secret, sensitive here, too."},
			"rules":  schema.ListAttribute{Computed: true, ElementType: ruleType, Description: "Its rules, as a list of objects."},
			"region": schema.StringAttribute{Computed: true, Description: "The region that the provider was configured with."},
		},
	}
}

func (d *lookupDataSource) Configure(_ context.Context, request datasource.ConfigureRequest, response *datasource.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	d.cloud = configured
}

func (d *lookupDataSource) Read(ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse) {
	var config lookupModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	found, err := d.find(config.Name.ValueString())
	if addError(&response.Diagnostics, "The records could not be searched", err); response.Diagnostics.HasError() {
		return
	}
	if len(found) != 1 {
		response.Diagnostics.AddAttributeError(path.Root("name"), "Not one record",
			fmt.Sprintf("%d records are called %q; exactly one has to be.", len(found), config.Name.ValueString()))
		return
	}

	var record recordModel
	record.Extra = types.DynamicNull()
	record.refresh(ctx, found[0], &response.Diagnostics)
	response.Diagnostics.Append(response.State.Set(ctx, &lookupModel{
		Name:   record.Name,
		ID:     record.ID,
		Title:  record.Title,
		Size:   record.Size,
		Tags:   record.Tags,
		Secret: record.Secret,
		Rules:  record.Rules,
		Region: types.StringValue(d.cloud.region),
	})...)
}

func (d *lookupDataSource) find(name string) ([]recordObject, error) {
	ids, err := d.cloud.objects().IDs(recordKind)
	if err != nil {
		return nil, err
	}
	var found []recordObject
	for _, id := range ids {
		var object recordObject
		exists, err := d.cloud.objects().Read(recordKind, id, &object)
		if err != nil {
			return nil, err
		}
		if exists && object.Name == name {
			found = append(found, object)
		}
	}
	return found, nil
}
