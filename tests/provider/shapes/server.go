package shapes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"isthmus/tests/provider/raw"
)

// Objects is where objects are kept: files that a test may edit.
type Objects interface {
	Create(kind, name string, object func(id string) any) (id string, err error)
	Read(kind, id string, object any) (found bool, err error)
	Write(kind, id string, object any) error
	Remove(kind, id string) error
	IDs(kind string) ([]string, error)
}

// Server serves the tables' schemas. It has no schema of the provider's configuration: the server beside it has one, and a joined
// provider needs no second.
type Server struct {
	tables     tables
	configType tftypes.Type
	open       func(directory string) Objects
	objects    atomic.Pointer[Objects]
}

var (
	_ tfprotov6.ProviderServerWithListResource = (*Server)(nil)
	_ tfprotov6.ProviderServerWithActions      = (*Server)(nil)
)

// New returns a server of what the protocol can say (5 knows no nested attributes), with the variants that are named. configType is
// the type of the provider's configuration, of which the server reads `directory` and hands it to open.
func New(protocol int, variants []string, configType tftypes.Type, open func(directory string) Objects) (*Server, error) {
	chosen, err := tablesOf(protocol, variants)
	if err != nil {
		return nil, err
	}
	server := &Server{tables: chosen, configType: configType, open: open}
	server.use(open(""))
	return server, nil
}

func (s *Server) use(objects Objects) { s.objects.Store(&objects) }

func (s *Server) cloud() Objects { return *s.objects.Load() }

// object is what an object's file holds; state is in the form of Terraform's state files.
type object struct {
	ID    string `json:"id"`
	State any    `json:"state"`
}

type storedObject struct {
	ID    string          `json:"id"`
	State json.RawMessage `json:"state"`
}

// private is a resource's private data. It is the only link to the object, since a resource may have no id at all.
type private struct {
	ID string `json:"id"`
}

// kind is the folder of a resource's objects.
func kind(typeName string) string {
	return strings.TrimPrefix(typeName, prefix)
}

func (s *Server) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	response := &tfprotov6.GetMetadataResponse{ServerCapabilities: capabilities}
	for name := range s.tables.resources {
		response.Resources = append(response.Resources, tfprotov6.ResourceMetadata{TypeName: name})
	}
	for name := range s.tables.dataSources {
		response.DataSources = append(response.DataSources, tfprotov6.DataSourceMetadata{TypeName: name})
	}
	for name := range s.tables.functions {
		response.Functions = append(response.Functions, tfprotov6.FunctionMetadata{Name: name})
	}
	for name := range s.tables.ephemerals {
		response.EphemeralResources = append(response.EphemeralResources, tfprotov6.EphemeralResourceMetadata{TypeName: name})
	}
	for name := range s.tables.lists {
		response.ListResources = append(response.ListResources, tfprotov6.ListResourceMetadata{TypeName: name})
	}
	for name := range s.tables.actions {
		response.Actions = append(response.Actions, tfprotov6.ActionMetadata{TypeName: name})
	}
	return response, nil
}

// capabilities are the same as those of the joined provider.
var capabilities = &tfprotov6.ServerCapabilities{GetProviderSchemaOptional: true, MoveResourceState: true, PlanDestroy: true}

func (s *Server) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	response := &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities:       capabilities,
		ResourceSchemas:          schemasOf(s.tables.resources),
		DataSourceSchemas:        schemasOf(s.tables.dataSources),
		EphemeralResourceSchemas: schemasOf(s.tables.ephemerals),
		ListResourceSchemas:      schemasOf(s.tables.lists),
		ActionSchemas:            map[string]*tfprotov6.ActionSchema{},
		Functions:                s.tables.definitions(),
	}
	for name, schema := range schemasOf(s.tables.actions) {
		response.ActionSchemas[name] = &tfprotov6.ActionSchema{Schema: schema}
	}
	return response, nil
}

func schemasOf(shapes map[string]shape) map[string]*tfprotov6.Schema {
	schemas := map[string]*tfprotov6.Schema{}
	for name, shape := range shapes {
		schemas[name] = &tfprotov6.Schema{Version: shape.version, Block: shape.block}
	}
	return schemas
}

func (s *Server) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	schemas := map[string]*tfprotov6.ResourceIdentitySchema{}
	for name, shape := range s.tables.resources {
		if shape.identity != nil {
			schemas[name] = shape.identity
		}
	}
	return &tfprotov6.GetResourceIdentitySchemasResponse{IdentitySchemas: schemas}, nil
}

func (s *Server) ValidateProviderConfig(_ context.Context, request *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: request.Config}, nil
}

func (s *Server) ConfigureProvider(_ context.Context, request *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	config, err := request.Config.Unmarshal(s.configType)
	if err != nil {
		return &tfprotov6.ConfigureProviderResponse{Diagnostics: failed("The configuration cannot be read", err)}, nil
	}
	members, _ := raw.Members(config)
	s.use(s.open(raw.Text(members["directory"])))
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s *Server) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

// validated decodes a configuration and tells what is wrong with it.
func validated(block *tfprotov6.SchemaBlock, config *tfprotov6.DynamicValue, writeOnlyAllowed bool) []*tfprotov6.Diagnostic {
	value, err := config.Unmarshal(blockType(block))
	if err != nil {
		return failed("The configuration cannot be read", err)
	}
	return misconfigured(block, value, writeOnlyAllowed)
}

// completed decodes a configuration and makes up what is computed, for those that are read or opened, not planned.
func completed(block *tfprotov6.SchemaBlock, config *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
	value, err := config.Unmarshal(blockType(block))
	if err != nil {
		return nil, err
	}
	return encoded(block, applied(block, "made-up-1", planned(block, value)))
}

func encoded(block *tfprotov6.SchemaBlock, value tftypes.Value) (*tfprotov6.DynamicValue, error) {
	dynamic, err := tfprotov6.NewDynamicValue(blockType(block), value)
	return &dynamic, err
}

func failed(summary string, err error) []*tfprotov6.Diagnostic {
	return []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: summary, Detail: err.Error()}}
}

func (s *Server) ValidateDataResourceConfig(_ context.Context, request *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	block := s.tables.dataSources[request.TypeName].block
	return &tfprotov6.ValidateDataResourceConfigResponse{Diagnostics: validated(block, request.Config, false)}, nil
}

func (s *Server) ReadDataSource(_ context.Context, request *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	state, err := completed(s.tables.dataSources[request.TypeName].block, request.Config)
	if err != nil {
		return &tfprotov6.ReadDataSourceResponse{Diagnostics: failed("The data source cannot be read", err)}, nil
	}
	return &tfprotov6.ReadDataSourceResponse{State: state}, nil
}

func (s *Server) ValidateEphemeralResourceConfig(_ context.Context, request *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	block := s.tables.ephemerals[request.TypeName].block
	return &tfprotov6.ValidateEphemeralResourceConfigResponse{Diagnostics: validated(block, request.Config, true)}, nil
}

func (s *Server) OpenEphemeralResource(_ context.Context, request *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	result, err := completed(s.tables.ephemerals[request.TypeName].block, request.Config)
	if err != nil {
		return &tfprotov6.OpenEphemeralResourceResponse{Diagnostics: failed("The ephemeral resource cannot be opened", err)}, nil
	}
	return &tfprotov6.OpenEphemeralResourceResponse{Result: result}, nil
}

func (s *Server) RenewEphemeralResource(context.Context, *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	return &tfprotov6.RenewEphemeralResourceResponse{}, nil
}

func (s *Server) CloseEphemeralResource(context.Context, *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	return &tfprotov6.CloseEphemeralResourceResponse{}, nil
}

func (s *Server) ValidateActionConfig(_ context.Context, request *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	block := s.tables.actions[request.ActionType].block
	return &tfprotov6.ValidateActionConfigResponse{Diagnostics: validated(block, request.Config, true)}, nil
}

func (s *Server) PlanAction(context.Context, *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	return &tfprotov6.PlanActionResponse{}, nil
}

// InvokeAction tells of each attribute that is set, and then fails if the configuration cannot be read.
func (s *Server) InvokeAction(_ context.Context, request *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	block := s.tables.actions[request.ActionType].block
	config, err := request.Config.Unmarshal(blockType(block))
	return &tfprotov6.InvokeActionServerStream{Events: func(push func(tfprotov6.InvokeActionEvent) bool) {
		members, _ := raw.Members(config)
		for _, attribute := range block.Attributes {
			if members[attribute.Name].IsNull() {
				continue
			}
			progress := tfprotov6.ProgressInvokeActionEventType{Message: fmt.Sprintf("%s is set.", attribute.Name)}
			if !push(tfprotov6.InvokeActionEvent{Type: progress}) {
				return
			}
		}
		end := tfprotov6.CompletedInvokeActionEventType{}
		if err != nil {
			end.Diagnostics = failed("The configuration cannot be read", err)
		}
		push(tfprotov6.InvokeActionEvent{Type: end})
	}}, nil
}

func (s *Server) GetFunctions(context.Context, *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return &tfprotov6.GetFunctionsResponse{Functions: s.tables.definitions()}, nil
}

func (s *Server) CallFunction(_ context.Context, request *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	function := s.tables.functions[request.Name]
	arguments := []tftypes.Value{}
	for i, argument := range request.Arguments {
		parameter := function.definition.VariadicParameter
		if i < len(function.definition.Parameters) {
			parameter = function.definition.Parameters[i]
		}
		value, err := argument.Unmarshal(valueType(parameter.Type))
		if err != nil {
			position := int64(i)
			return &tfprotov6.CallFunctionResponse{Error: &tfprotov6.FunctionError{Text: err.Error(), FunctionArgument: &position}}, nil
		}
		arguments = append(arguments, value)
	}
	value, err := function.call(arguments)
	if err != nil {
		return &tfprotov6.CallFunctionResponse{Error: &tfprotov6.FunctionError{Text: err.Error()}}, nil
	}
	result, err := tfprotov6.NewDynamicValue(valueType(function.definition.Return.Type), value)
	if err != nil {
		return &tfprotov6.CallFunctionResponse{Error: &tfprotov6.FunctionError{Text: err.Error()}}, nil
	}
	return &tfprotov6.CallFunctionResponse{Result: &result}, nil
}
