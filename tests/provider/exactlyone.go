package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// exactlyOne looks at several attributes of a configuration at once, as the validators of terraform-plugin-framework-validators do, which
// many providers use: where a switch asks for it, exactly one of some attributes has to be set. Too many are an error at the first of them,
// none an error without a path, and what is unknown is left for later.
type exactlyOne struct {
	// where is the switch, and value what it is then.
	where, value string
	of           []string
}

var (
	_ provider.ConfigValidator = exactlyOne{}
	_ resource.ConfigValidator = exactlyOne{}
)

func (e exactlyOne) Description(context.Context) string {
	return fmt.Sprintf("Exactly one of %s is set, where %s is %s.", strings.Join(e.of, ", "), e.where, e.value)
}

func (e exactlyOne) MarkdownDescription(ctx context.Context) string {
	return e.Description(ctx)
}

func (e exactlyOne) ValidateProvider(ctx context.Context, request provider.ValidateConfigRequest, response *provider.ValidateConfigResponse) {
	e.validate(ctx, request.Config, &response.Diagnostics)
}

func (e exactlyOne) ValidateResource(ctx context.Context, request resource.ValidateConfigRequest, response *resource.ValidateConfigResponse) {
	e.validate(ctx, request.Config, &response.Diagnostics)
}

func (e exactlyOne) validate(ctx context.Context, config tfsdk.Config, diagnostics *diag.Diagnostics) {
	get := func(name string) (value types.String) {
		diagnostics.Append(config.GetAttribute(ctx, path.Root(name), &value)...)
		return value
	}
	if get(e.where).ValueString() != e.value {
		return
	}
	var given []string
	for _, name := range e.of {
		switch value := get(name); {
		case value.IsUnknown():
			return
		case !value.IsNull():
			given = append(given, name)
		}
	}
	switch all := strings.Join(e.of, ", "); {
	case len(given) == 0:
		diagnostics.AddError("Missing attribute", "Exactly one of these has to be set: "+all+".")
	case len(given) > 1:
		diagnostics.AddAttributeError(path.Root(given[0]), "Too many attributes", "Only one of these can be set: "+all+".")
	}
}
