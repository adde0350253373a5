package shapes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

func (s *Server) ValidateResourceConfig(_ context.Context, request *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	block := s.tables.resources[request.TypeName].block
	writeOnlyAllowed := request.ClientCapabilities != nil && request.ClientCapabilities.WriteOnlyAttributesAllowed
	return &tfprotov6.ValidateResourceConfigResponse{Diagnostics: validated(block, request.Config, writeOnlyAllowed)}, nil
}

// UpgradeResourceState takes states of every version: attributes that the schema does not know are dropped, others are null.
func (s *Server) UpgradeResourceState(_ context.Context, request *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	block := s.tables.resources[request.TypeName].block
	options := tfprotov6.UnmarshalOpts{ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true}}
	state, err := request.RawState.UnmarshalWithOpts(blockType(block), options)
	if err != nil {
		return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: failed("The state cannot be read", err)}, nil
	}
	upgraded, err := encoded(block, state)
	if err != nil {
		return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: failed("The state cannot be written", err)}, nil
	}
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: upgraded}, nil
}

func (s *Server) ReadResource(_ context.Context, request *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	shape := s.tables.resources[request.TypeName]
	id, err := idOf(request.Private)
	if err != nil {
		return &tfprotov6.ReadResourceResponse{Diagnostics: failed(privateLost, err)}, nil
	}
	state, err := s.load(request.TypeName, id)
	if err != nil {
		return &tfprotov6.ReadResourceResponse{Diagnostics: failed("The object cannot be read", err)}, nil
	}
	read, err := encoded(shape.block, state)
	if err != nil {
		return &tfprotov6.ReadResourceResponse{Diagnostics: failed("The object's file does not fit the schema", err)}, nil
	}
	return &tfprotov6.ReadResourceResponse{NewState: read, Private: request.Private, NewIdentity: shape.identityOf(state)}, nil
}

func (s *Server) PlanResourceChange(_ context.Context, request *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	shape := s.tables.resources[request.TypeName]
	of := blockType(shape.block)
	prior, priorErr := request.PriorState.Unmarshal(of)
	proposed, proposedErr := request.ProposedNewState.Unmarshal(of)
	if err := errors.Join(priorErr, proposedErr); err != nil {
		return &tfprotov6.PlanResourceChangeResponse{Diagnostics: failed("The proposed state cannot be read", err)}, nil
	}
	response := &tfprotov6.PlanResourceChangeResponse{PlannedPrivate: request.PriorPrivate, PlannedIdentity: request.PriorIdentity}
	plan := planned(shape.block, proposed)
	var err error
	if response.PlannedState, err = encoded(shape.block, plan); err != nil {
		return &tfprotov6.PlanResourceChangeResponse{Diagnostics: failed("The plan cannot be written", err)}, nil
	}
	before, _ := raw.Members(prior)
	after, _ := raw.Members(plan)
	for _, name := range shape.replaces {
		if before != nil && after != nil && !before[name].Equal(after[name]) {
			response.RequiresReplace = append(response.RequiresReplace, tftypes.NewAttributePath().WithAttributeName(name))
		}
	}
	return response, nil
}

func (s *Server) ApplyResourceChange(_ context.Context, request *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	shape := s.tables.resources[request.TypeName]
	of := blockType(shape.block)
	prior, priorErr := request.PriorState.Unmarshal(of)
	plan, planErr := request.PlannedState.Unmarshal(of)
	if err := errors.Join(priorErr, planErr); err != nil {
		return &tfprotov6.ApplyResourceChangeResponse{Diagnostics: failed("The planned state cannot be read", err)}, nil
	}

	id, state := "", plan
	var err error
	switch {
	case plan.IsNull():
		if id, err = idOf(request.PlannedPrivate); err != nil {
			id, err = s.find(request.TypeName, prior)
		}
		if err == nil {
			err = s.cloud().Remove(kind(request.TypeName), id)
		}
	case prior.IsNull():
		id, state, err = s.create(request.TypeName, plan)
	default:
		if id, err = idOf(request.PlannedPrivate); err == nil {
			state, err = s.update(request.TypeName, id, plan)
		}
	}
	if err != nil {
		return &tfprotov6.ApplyResourceChangeResponse{NewState: request.PriorState, Private: request.PlannedPrivate, Diagnostics: failed("The change cannot be made", err)}, nil
	}

	made, err := encoded(shape.block, state)
	if err != nil {
		return &tfprotov6.ApplyResourceChangeResponse{Diagnostics: failed("The new state cannot be written", err)}, nil
	}
	response := &tfprotov6.ApplyResourceChangeResponse{NewState: made}
	if !plan.IsNull() {
		response.Private = privateOf(id)
		response.NewIdentity = shape.identityOf(state)
	}
	return response, nil
}

func (s *Server) create(typeName string, plan tftypes.Value) (string, tftypes.Value, error) {
	block := s.tables.resources[typeName].block
	members, _ := raw.Members(plan)
	name := raw.Text(members["name"])
	if name == "" {
		name = kind(typeName)
	}
	var state tftypes.Value
	var failure error
	id, err := s.cloud().Create(kind(typeName), name, func(id string) any {
		state = applied(block, id, plan)
		var content any
		content, failure = raw.ToJSON(blockType(block), state)
		return object{ID: id, State: content}
	})
	return id, state, errors.Join(err, failure)
}

func (s *Server) update(typeName, id string, plan tftypes.Value) (tftypes.Value, error) {
	block := s.tables.resources[typeName].block
	former, err := s.load(typeName, id)
	if err == nil && former.IsNull() {
		err = fmt.Errorf("there is no object %s to update", id)
	}
	if err != nil {
		return plan, err
	}
	state := applied(block, id, plan)
	content, err := raw.ToJSON(blockType(block), state)
	if err != nil {
		return plan, err
	}
	return state, s.cloud().Write(kind(typeName), id, object{ID: id, State: content})
}

// find is for deletions without private state, which is how the Go bridge sends them: comparisons with it need those, too.
func (s *Server) find(typeName string, state tftypes.Value) (string, error) {
	ids, err := s.cloud().IDs(kind(typeName))
	for _, id := range ids {
		if kept, err := s.load(typeName, id); err == nil && kept.Equal(state) {
			return id, nil
		}
	}
	return "", errors.Join(err, errors.New("private state did not come with this deletion, and no object has the state that did"))
}

// load is null for an object that does not exist.
func (s *Server) load(typeName, id string) (tftypes.Value, error) {
	of := blockType(s.tables.resources[typeName].block)
	var stored storedObject
	found, err := s.cloud().Read(kind(typeName), id, &stored)
	if err != nil || !found {
		return tftypes.NewValue(of, nil), err
	}
	return tfprotov6.RawState{JSON: stored.State}.Unmarshal(of)
}

// ImportResourceState takes the name of the object's file, without its ending, or an identity with that name as `id`.
func (s *Server) ImportResourceState(_ context.Context, request *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	shape := s.tables.resources[request.TypeName]
	id := request.ID
	if id == "" && request.Identity != nil && shape.identity != nil {
		identity, err := request.Identity.IdentityData.Unmarshal(shape.identity.ValueType())
		if err != nil {
			return &tfprotov6.ImportResourceStateResponse{Diagnostics: failed("The identity cannot be read", err)}, nil
		}
		members, _ := raw.Members(identity)
		id = raw.Text(members["id"])
	}
	state, err := s.load(request.TypeName, id)
	if err == nil && state.IsNull() {
		err = fmt.Errorf("there is no object %s to import", id)
	}
	if err != nil {
		return &tfprotov6.ImportResourceStateResponse{Diagnostics: failed("The object cannot be imported", err)}, nil
	}
	imported, err := encoded(shape.block, state)
	if err != nil {
		return &tfprotov6.ImportResourceStateResponse{Diagnostics: failed("The object's file does not fit the schema", err)}, nil
	}
	return &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{{
		TypeName: request.TypeName, State: imported, Private: privateOf(id), Identity: shape.identityOf(state),
	}}}, nil
}

func (s *Server) MoveResourceState(_ context.Context, request *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	err := fmt.Errorf("%s does not take over the state of %s", request.TargetTypeName, request.SourceTypeName)
	return &tfprotov6.MoveResourceStateResponse{Diagnostics: failed("No such move", err)}, nil
}

func (s *Server) UpgradeResourceIdentity(_ context.Context, request *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	schema := s.tables.resources[request.TypeName].identity
	if schema == nil {
		return &tfprotov6.UpgradeResourceIdentityResponse{Diagnostics: failed("No identity", fmt.Errorf("%s has none", request.TypeName))}, nil
	}
	identity, err := request.RawIdentity.Unmarshal(schema.ValueType())
	if err != nil {
		return &tfprotov6.UpgradeResourceIdentityResponse{Diagnostics: failed("The identity cannot be read", err)}, nil
	}
	dynamic, err := tfprotov6.NewDynamicValue(schema.ValueType(), identity)
	if err != nil {
		return &tfprotov6.UpgradeResourceIdentityResponse{Diagnostics: failed("The identity cannot be written", err)}, nil
	}
	return &tfprotov6.UpgradeResourceIdentityResponse{UpgradedIdentity: &tfprotov6.ResourceIdentityData{IdentityData: &dynamic}}, nil
}

func (s *Server) GenerateResourceConfig(_ context.Context, request *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	err := fmt.Errorf("%s cannot do this; the provider does not announce that it can", request.TypeName)
	return &tfprotov6.GenerateResourceConfigResponse{Diagnostics: failed("No configuration", err)}, nil
}

func (s *Server) ValidateListResourceConfig(_ context.Context, request *tfprotov6.ValidateListResourceConfigRequest) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	block := s.tables.lists[request.TypeName].block
	return &tfprotov6.ValidateListResourceConfigResponse{Diagnostics: validated(block, request.Config, false)}, nil
}

// ListResource lists all objects, whatever the configuration says.
func (s *Server) ListResource(_ context.Context, request *tfprotov6.ListResourceRequest) (*tfprotov6.ListResourceServerStream, error) {
	shape := s.tables.resources[request.TypeName]
	ids, err := s.cloud().IDs(kind(request.TypeName))
	return &tfprotov6.ListResourceServerStream{Results: func(push func(tfprotov6.ListResourceResult) bool) {
		if err != nil {
			push(tfprotov6.ListResourceResult{Diagnostics: failed("The objects cannot be listed", err)})
			return
		}
		for i, id := range ids {
			if request.Limit > 0 && int64(i) == request.Limit {
				return
			}
			if !push(s.listed(request.TypeName, shape, id, request.IncludeResource)) {
				return
			}
		}
	}}, nil
}

func (s *Server) listed(typeName string, shape shape, id string, whole bool) tfprotov6.ListResourceResult {
	state, err := s.load(typeName, id)
	if err != nil {
		return tfprotov6.ListResourceResult{Diagnostics: failed("The object cannot be read", err)}
	}
	result := tfprotov6.ListResourceResult{DisplayName: id, Identity: shape.identityOf(state)}
	if whole {
		if result.Resource, err = encoded(shape.block, state); err != nil {
			result.Diagnostics = failed("The object's file does not fit the schema", err)
		}
	}
	return result
}

// identityOf takes the attributes of the identity from the state, where they have the same names.
func (s shape) identityOf(state tftypes.Value) *tfprotov6.ResourceIdentityData {
	members, ok := raw.Members(state)
	if s.identity == nil || !ok {
		return nil
	}
	values := map[string]tftypes.Value{}
	for _, attribute := range s.identity.IdentityAttributes {
		values[attribute.Name] = members[attribute.Name]
	}
	of := s.identity.ValueType()
	dynamic, err := tfprotov6.NewDynamicValue(of, tftypes.NewValue(of, values))
	if err != nil {
		return nil
	}
	return &tfprotov6.ResourceIdentityData{IdentityData: &dynamic}
}

const privateLost = "Private state was lost"

func privateOf(id string) []byte {
	// A struct of one text always encodes.
	encoded, _ := json.Marshal(private{ID: id})
	return encoded
}

func idOf(encoded []byte) (string, error) {
	var kept private
	if len(encoded) == 0 {
		return "", errors.New("the object's private state did not come back with this call")
	}
	err := json.Unmarshal(encoded, &kept)
	return kept.ID, err
}
