package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// leaseEphemeral is open while DIRECTORY/lease/ID.json exists; the file counts renewals. What it needs to renew and to close travels
// in its private data, as with real providers.
type leaseEphemeral struct {
	cloud *cloud
}

var (
	_ ephemeral.EphemeralResourceWithConfigure = (*leaseEphemeral)(nil)
	_ ephemeral.EphemeralResourceWithRenew     = (*leaseEphemeral)(nil)
	_ ephemeral.EphemeralResourceWithClose     = (*leaseEphemeral)(nil)
)

type leaseModel struct {
	Holder     types.String `tfsdk:"holder"`
	RenewAfter types.Int64  `tfsdk:"renew_after"`
	Token      types.String `tfsdk:"token"`
}

type leaseObject struct {
	ID       string `json:"id"`
	Holder   string `json:"holder"`
	Renewals int64  `json:"renewals"`
}

type leasePrivate struct {
	ID                string `json:"id"`
	RenewAfterSeconds int64  `json:"renew_after_seconds"`
}

const (
	leaseKind       = "lease"
	leasePrivateKey = "lease"
)

func (*leaseEphemeral) Metadata(_ context.Context, request ephemeral.MetadataRequest, response *ephemeral.MetadataResponse) {
	response.TypeName = request.ProviderTypeName + "_lease"
}

func (*leaseEphemeral) Schema(_ context.Context, _ ephemeral.SchemaRequest, response *ephemeral.SchemaResponse) {
	response.Schema = schema.Schema{
		Description: "A lease: open while its file exists.",
		Attributes: map[string]schema.Attribute{
			"holder":      schema.StringAttribute{Required: true, Description: "Who holds it."},
			"renew_after": schema.Int64Attribute{Optional: true, Description: "Seconds after which it wants to be renewed."},
			"token":       schema.StringAttribute{Computed: true, Sensitive: true, Description: "What the lease is for."},
		},
	}
}

func (l *leaseEphemeral) Configure(_ context.Context, request ephemeral.ConfigureRequest, response *ephemeral.ConfigureResponse) {
	configured, err := cloudOf(request.ProviderData)
	addError(&response.Diagnostics, "Provider data", err)
	l.cloud = configured
}

func (l *leaseEphemeral) Open(ctx context.Context, request ephemeral.OpenRequest, response *ephemeral.OpenResponse) {
	var config leaseModel
	response.Diagnostics.Append(request.Config.Get(ctx, &config)...)
	if response.Diagnostics.HasError() {
		return
	}
	holder := config.Holder.ValueString()
	id, err := l.cloud.objects().Create(leaseKind, holder, func(id string) any {
		return leaseObject{ID: id, Holder: holder}
	})
	if addError(&response.Diagnostics, "The lease could not be opened", err); response.Diagnostics.HasError() {
		return
	}

	private := leasePrivate{ID: id, RenewAfterSeconds: config.RenewAfter.ValueInt64()}
	encoded, err := json.Marshal(private)
	addError(&response.Diagnostics, "The lease could not be opened", err)
	response.Diagnostics.Append(response.Private.SetKey(ctx, leasePrivateKey, encoded)...)
	config.Token = types.StringValue("token-of-" + id)
	response.Diagnostics.Append(response.Result.Set(ctx, &config)...)
	response.RenewAt = private.renewAt()
}

func (l *leaseEphemeral) Renew(ctx context.Context, request ephemeral.RenewRequest, response *ephemeral.RenewResponse) {
	private, err := readLeasePrivate(ctx, request.Private)
	if addError(&response.Diagnostics, privateLost, err); err != nil {
		return
	}
	var lease leaseObject
	found, err := l.cloud.objects().Read(leaseKind, private.ID, &lease)
	if err == nil && !found {
		err = fmt.Errorf("there is no lease %s", private.ID)
	}
	if err == nil {
		lease.Renewals++
		err = l.cloud.objects().Write(leaseKind, private.ID, lease)
	}
	addError(&response.Diagnostics, "The lease could not be renewed", err)
	response.RenewAt = private.renewAt()
}

func (l *leaseEphemeral) Close(ctx context.Context, request ephemeral.CloseRequest, response *ephemeral.CloseResponse) {
	private, err := readLeasePrivate(ctx, request.Private)
	if addError(&response.Diagnostics, privateLost, err); err != nil {
		return
	}
	err = l.cloud.objects().Remove(leaseKind, private.ID)
	addError(&response.Diagnostics, "The lease could not be closed", err)
}

// renewAt is the zero time, which the framework sends as nothing, for a lease that wants no renewal.
func (p leasePrivate) renewAt() time.Time {
	if p.RenewAfterSeconds == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(p.RenewAfterSeconds) * time.Second)
}

func readLeasePrivate(ctx context.Context, private privateState) (leasePrivate, error) {
	var lease leasePrivate
	content, diagnostics := private.GetKey(ctx, leasePrivateKey)
	if diagnostics.HasError() || content == nil {
		return lease, fmt.Errorf("the lease's private data did not come back with this call: %v", diagnostics)
	}
	return lease, json.Unmarshal(content, &lease)
}
