package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// recordModel is a record as Terraform sees it: configuration, plan or state.
type recordModel struct {
	ID                types.String   `tfsdk:"id"`
	Name              types.String   `tfsdk:"name"`
	Title             types.String   `tfsdk:"title"`
	Size              types.Int64    `tfsdk:"size"`
	Tags              types.Map      `tfsdk:"tags"`
	Labels            types.Set      `tfsdk:"labels"`
	Secret            types.String   `tfsdk:"secret"`
	PasswordWO        types.String   `tfsdk:"password_wo"`
	PasswordWOVersion types.Int64    `tfsdk:"password_wo_version"`
	Etag              types.String   `tfsdk:"etag"`
	Extra             types.Dynamic  `tfsdk:"extra"`
	Timeouts          timeouts.Value `tfsdk:"timeouts"`
	Rules             types.List     `tfsdk:"rule"`
	Grants            types.Set      `tfsdk:"grant"`
	Settings          types.Object   `tfsdk:"settings"`
}

type ruleModel struct {
	Port     types.Int64  `tfsdk:"port"`
	Protocol types.String `tfsdk:"protocol"`
}

type grantModel struct {
	Who   types.String `tfsdk:"who"`
	Level types.String `tfsdk:"level"`
}

type settingsModel struct {
	Mode    types.String `tfsdk:"mode"`
	Verbose types.Bool   `tfsdk:"verbose"`
	Quota   types.Number `tfsdk:"quota"`
}

var (
	ruleType     = types.ObjectType{AttrTypes: map[string]attr.Type{"port": types.Int64Type, "protocol": types.StringType}}
	grantType    = types.ObjectType{AttrTypes: map[string]attr.Type{"who": types.StringType, "level": types.StringType}}
	settingsType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"mode": types.StringType, "verbose": types.BoolType, "quota": types.NumberType,
	}}
)

// recordObject is a record as its file holds it. Pointers, nil maps and nil slices are nulls; what the file of a test leaves out
// is null, too.
type recordObject struct {
	ID              string            `json:"id"`
	Name            string            `json:"name"`
	Title           *string           `json:"title"`
	Size            *int64            `json:"size"`
	Tags            map[string]string `json:"tags"`
	Labels          []string          `json:"labels"`
	Secret          *string           `json:"secret"`
	Password        string            `json:"password"`
	PasswordVersion *int64            `json:"password_version"`
	Revision        int64             `json:"revision"`
	Extra           any               `json:"extra"`
	Rules           []ruleObject      `json:"rules"`
	Grants          []grantObject     `json:"grants"`
	Settings        *settingsObject   `json:"settings"`
}

type ruleObject struct {
	Port     *int64  `json:"port"`
	Protocol *string `json:"protocol"`
}

type grantObject struct {
	Who   *string `json:"who"`
	Level *string `json:"level"`
}

type settingsObject struct {
	Mode    *string      `json:"mode"`
	Verbose *bool        `json:"verbose"`
	Quota   *json.Number `json:"quota"`
}

func (o recordObject) etag() types.String {
	return types.StringValue(fmt.Sprintf("v%d", o.Revision))
}

// object translates a plan, all of whose inputs are known; id, revision and password are the caller's to fill in.
func (m recordModel) object(ctx context.Context, diagnostics *diag.Diagnostics) recordObject {
	object := recordObject{
		Name:            m.Name.ValueString(),
		Title:           m.Title.ValueStringPointer(),
		Size:            m.Size.ValueInt64Pointer(),
		Secret:          m.Secret.ValueStringPointer(),
		PasswordVersion: m.PasswordWOVersion.ValueInt64Pointer(),
	}
	diagnostics.Append(m.Tags.ElementsAs(ctx, &object.Tags, false)...)
	diagnostics.Append(m.Labels.ElementsAs(ctx, &object.Labels, false)...)

	var rules []ruleModel
	diagnostics.Append(m.Rules.ElementsAs(ctx, &rules, false)...)
	for _, rule := range rules {
		object.Rules = append(object.Rules, ruleObject{rule.Port.ValueInt64Pointer(), rule.Protocol.ValueStringPointer()})
	}
	var grants []grantModel
	diagnostics.Append(m.Grants.ElementsAs(ctx, &grants, false)...)
	for _, grant := range grants {
		object.Grants = append(object.Grants, grantObject{grant.Who.ValueStringPointer(), grant.Level.ValueStringPointer()})
	}
	if !m.Settings.IsNull() {
		var settings settingsModel
		diagnostics.Append(m.Settings.As(ctx, &settings, objectAsOptions)...)
		object.Settings = &settingsObject{
			Mode:    settings.Mode.ValueStringPointer(),
			Verbose: settings.Verbose.ValueBoolPointer(),
			Quota:   numberToJSON(settings.Quota),
		}
	}

	extra, err := valueToJSON(ctx, m.Extra)
	addError(diagnostics, "The extra value cannot be stored", err)
	object.Extra = extra
	return object
}

// refresh takes over what the file says. What the file cannot tell (timeouts) stays as it is in the state.
func (m *recordModel) refresh(ctx context.Context, object recordObject, diagnostics *diag.Diagnostics) {
	var found diag.Diagnostics
	m.ID = types.StringValue(object.ID)
	m.Name = types.StringValue(object.Name)
	m.Title = types.StringPointerValue(object.Title)
	m.Size = types.Int64PointerValue(object.Size)
	m.Secret = types.StringPointerValue(object.Secret)
	m.PasswordWO = types.StringNull()
	m.PasswordWOVersion = types.Int64PointerValue(object.PasswordVersion)
	m.Etag = object.etag()
	m.Tags, found = types.MapValueFrom(ctx, types.StringType, object.Tags)
	diagnostics.Append(found...)
	m.Labels, found = types.SetValueFrom(ctx, types.StringType, object.Labels)
	diagnostics.Append(found...)

	rules := []ruleModel{}
	for _, rule := range object.Rules {
		rules = append(rules, ruleModel{types.Int64PointerValue(rule.Port), types.StringPointerValue(rule.Protocol)})
	}
	m.Rules, found = types.ListValueFrom(ctx, ruleType, rules)
	diagnostics.Append(found...)
	grants := []grantModel{}
	for _, grant := range object.Grants {
		grants = append(grants, grantModel{types.StringPointerValue(grant.Who), types.StringPointerValue(grant.Level)})
	}
	m.Grants, found = types.SetValueFrom(ctx, grantType, grants)
	diagnostics.Append(found...)

	m.Settings = types.ObjectNull(settingsType.AttrTypes)
	if object.Settings != nil {
		settings := settingsModel{
			Mode:    types.StringPointerValue(object.Settings.Mode),
			Verbose: types.BoolPointerValue(object.Settings.Verbose),
			Quota:   numberFromJSON(object.Settings.Quota),
		}
		m.Settings, found = types.ObjectValueFrom(ctx, settingsType.AttrTypes, settings)
		diagnostics.Append(found...)
	}
	extra, err := refreshedDynamic(ctx, m.Extra, object.Extra)
	addError(diagnostics, "The extra value in the file cannot be read", err)
	m.Extra = extra
}
