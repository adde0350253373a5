package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// sessionEphemeral is an ephemeral resource whose history stays: DIRECTORY/session/ID.json tells of each call, and is not removed by
// the last. Each renewal changes the private data, and a call with any but the newest fails.
type sessionEphemeral struct {
	cloud *cloud
}

var (
	_ ephemeral.EphemeralResourceWithConfigure      = (*sessionEphemeral)(nil)
	_ ephemeral.EphemeralResourceWithRenew          = (*sessionEphemeral)(nil)
	_ ephemeral.EphemeralResourceWithClose          = (*sessionEphemeral)(nil)
	_ ephemeral.EphemeralResourceWithValidateConfig = (*sessionEphemeral)(nil)
)

type sessionModel struct {
	User        types.String `tfsdk:"user"`
	RenewEvery  types.Int64  `tfsdk:"renew_every"`
	Renewals    types.Int64  `tfsdk:"renewals"`
	WaitFor     types.String `tfsdk:"wait_for"`
	Trouble     types.String `tfsdk:"trouble"`
	Token       types.String `tfsdk:"token"`
	Credentials types.Object `tfsdk:"credentials"`
}

var credentialsTypes = map[string]attr.Type{"user": types.StringType, "keys": types.ListType{ElemType: types.StringType}}

type sessionObject struct {
	ID     string   `json:"id"`
	Open   bool     `json:"open"`
	Events []string `json:"events"`

	// Renewals are those that the newest private data knows of.
	Renewals int64 `json:"renewals"`
}

type sessionPrivate struct {
	ID         string `json:"id"`
	Renewals   int64  `json:"renewals"`
	Wanted     int64  `json:"wanted"`
	RenewEvery int64  `json:"renew_every"`
	Trouble    string `json:"trouble"`
}

const (
	sessionKind       = "session"
	sessionPrivateKey = "session"
)

func (*sessionEphemeral) Metadata(_ context.Context, request ephemeral.MetadataRequest, response *ephemeral.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_session"
}

func (*sessionEphemeral) Schema(_ context.Context, _ ephemeral.SchemaRequest, response *ephemeral.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "A session, whose file tells of each call.",
		Attributes: map[string]schema.Attribute{
			"user":        schema.StringAttribute{Required: true, Description: "Whose it is, and what its id starts with; `invalid` is refused."},
			"renew_every": schema.Int64Attribute{Optional: true, Description: "Milliseconds between renewals; none without it."},
			"renewals":    schema.Int64Attribute{Optional: true, Description: "After how many renewals it asks for no more; never without it."},
			"wait_for":    schema.StringAttribute{Optional: true, Description: waitForDescription},
			"trouble": schema.StringAttribute{
				Optional:    true,
				Description: "`open`, `renew`, `close` fail; `warn-open`, `warn-renew`, `warn-close` warn; `overdue` is to be renewed before it was opened.",
			},
			"token":       schema.StringAttribute{Computed: true, Sensitive: true, Description: "What the session is for."},
			"credentials": schema.ObjectAttribute{Computed: true, AttributeTypes: credentialsTypes, Description: "The same in parts."},
		},
	}
}

func (s *sessionEphemeral) Configure(_ context.Context, request ephemeral.ConfigureRequest, response *ephemeral.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	s.cloud = configured
}

func (*sessionEphemeral) ValidateConfig(ctx context.Context, request ephemeral.ValidateConfigRequest, response *ephemeral.ValidateConfigResponse) {
	var user types.String
	response.Diagnostics.Append(request.Config.GetAttribute(ctx, path.Root("user"), &user)...)
	if user.ValueString() == "invalid" {
		response.Diagnostics.AddAttributeError(path.Root("user"), "Invalid user", "There is no user of this name.")
	}
}

func (s *sessionEphemeral) Open(ctx context.Context, request ephemeral.OpenRequest, response *ephemeral.OpenResponse) {
	var config sessionModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	if reason := waits(s.cloud.objects(), config.WaitFor, request.ClientCapabilities.DeferralAllowed, &response.Diagnostics); reason != 0 {
		response.Deferred = &ephemeral.Deferred{Reason: ephemeral.DeferredReason(reason)}
		config.Token, config.Credentials = types.StringUnknown(), types.ObjectUnknown(credentialsTypes)
		response.Diagnostics.Append(response.Result.Set(ctx, &config)...)
		return
	}
	switch config.Trouble.ValueString() {
	case "open":
		response.Diagnostics.AddAttributeError(path.Root("user"), "Opening failed", "This was asked for.")
	case "warn-open":
		response.Diagnostics.AddAttributeWarning(path.Root("user"), "Opening doubtful", "This was asked for.")
	}
	if response.Diagnostics.HasError() {
		return
	}

	user := config.User.ValueString()
	id, err := s.cloud.objects().Create(sessionKind, user, func(id string) any {
		return sessionObject{ID: id, Open: true, Events: []string{"open"}}
	})
	if addError(&response.Diagnostics, "The session could not be opened", err); err != nil {
		return
	}
	private := sessionPrivate{
		ID: id, Wanted: -1, RenewEvery: config.RenewEvery.ValueInt64(), Trouble: config.Trouble.ValueString(),
	}
	if !config.Renewals.IsNull() {
		private.Wanted = config.Renewals.ValueInt64()
	}
	response.Diagnostics.Append(response.Private.SetKey(ctx, sessionPrivateKey, encodePrivate(private))...)
	response.RenewAt = private.renewAt()
	config.Token = types.StringValue("token of " + id)
	keys := types.ListValueMust(types.StringType, texts("key 1 of "+id, "key 2 of "+id))
	config.Credentials = types.ObjectValueMust(credentialsTypes, map[string]attr.Value{"user": config.User, "keys": keys})
	response.Diagnostics.Append(response.Result.Set(ctx, &config)...)
}

func (s *sessionEphemeral) Renew(ctx context.Context, request ephemeral.RenewRequest, response *ephemeral.RenewResponse) {
	object, private, err := s.recall(ctx, request.Private)
	if addError(&response.Diagnostics, "The session could not be renewed", err); err != nil {
		return
	}
	event := "renew"
	switch private.Trouble {
	case "renew":
		event = "renew failed"
		response.Diagnostics.AddError("Renewal failed", "This was asked for.")
	case "warn-renew":
		response.Diagnostics.AddWarning("Renewal doubtful", "This was asked for.")
	}
	if event == "renew" {
		private.Renewals++
		object.Renewals = private.Renewals
	}
	object.Events = append(object.Events, event)
	addError(&response.Diagnostics, "The session could not be renewed", s.cloud.objects().Write(sessionKind, object.ID, object))
	response.Diagnostics.Append(response.Private.SetKey(ctx, sessionPrivateKey, encodePrivate(private))...)
	response.RenewAt = private.renewAt()
}

func (s *sessionEphemeral) Close(ctx context.Context, request ephemeral.CloseRequest, response *ephemeral.CloseResponse) {
	object, private, err := s.recall(ctx, request.Private)
	if addError(&response.Diagnostics, "The session could not be closed", err); err != nil {
		return
	}
	switch private.Trouble {
	case "close":
		object.Events = append(object.Events, "close failed")
		response.Diagnostics.AddError("Closing failed", "This was asked for.")
	case "warn-close":
		response.Diagnostics.AddWarning("Closing doubtful", "This was asked for.")
		fallthrough
	default:
		object.Events = append(object.Events, "close")
		object.Open = false
	}
	addError(&response.Diagnostics, "The session could not be closed", s.cloud.objects().Write(sessionKind, object.ID, object))
}

// recall is the session of some private data, which has to be the newest.
func (s *sessionEphemeral) recall(ctx context.Context, kept privateState) (sessionObject, sessionPrivate, error) {
	var object sessionObject
	var private sessionPrivate
	content, diagnostics := kept.GetKey(ctx, sessionPrivateKey)
	if diagnostics.HasError() || content == nil {
		return object, private, fmt.Errorf("the session's private data did not come back with this call: %v", diagnostics)
	}
	if err := json.Unmarshal(content, &private); err != nil {
		return object, private, err
	}
	found, err := s.cloud.objects().Read(sessionKind, private.ID, &object)
	switch {
	case err != nil:
		return object, private, err
	case !found:
		return object, private, fmt.Errorf("there is no session %s", private.ID)
	case !object.Open:
		return object, private, fmt.Errorf("the session %s is closed", private.ID)
	case object.Renewals != private.Renewals:
		return object, private, fmt.Errorf("the session's private data knows of %d renewals, the session of %d", private.Renewals, object.Renewals)
	default:
		return object, private, nil
	}
}

// renewAt is the zero time, which the framework sends as nothing, for a session that wants no renewal, or no further one.
func (p sessionPrivate) renewAt() time.Time {
	switch {
	case p.RenewEvery == 0, p.Wanted >= 0 && p.Renewals >= p.Wanted:
		return time.Time{}
	case p.Trouble == "overdue" && p.Renewals == 0:
		return time.Now().Add(-time.Hour)
	default:
		return time.Now().Add(time.Duration(p.RenewEvery) * time.Millisecond)
	}
}
