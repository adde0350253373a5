// A provider of a fixture: it passes the engine's calls on to isthmus, as calls about `sandbox_faulty`.
package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/pkg/v3/engine/lifecycletest/fuzzing"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// The type that all resources of a fixture have for isthmus.
const token = tokens.Type("sandbox:index/faulty:Faulty")

// What the sandbox does: nothing wrong.
const well = "none"

// A resource's inputs: another size changes it, another place replaces it.
func inputs(size, place float64) property.Map {
	return property.NewMap(map[string]property.Value{
		"mode": property.New(well), "during": property.New("create"), "size": property.New(size), "place": property.New(fmt.Sprint(place)),
	})
}

// The same, where the programs of some resources keep the place secret.
func inputsOf(urn resource.URN, size, place float64) property.Map {
	inputs := inputs(size, place)
	if isDiscreet(urn) {
		return inputs.Set("place", inputs.Get("place").WithSecret(true))
	}
	return inputs
}

func isDiscreet(urn resource.URN) bool { return len(urn)%2 == 0 }

// Makes an object, whose outputs serve as a template.
func (i *isthmus) makeTemplate() error {
	session, err := i.session("")
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind, name, id := tokens.Type("pulumi:providers:sandbox"), "template", resource.ID("template")
	provider := resource.NewURN("template", "template", "", kind, name)
	configured := plugin.ConfigureRequest{URN: &provider, Name: &name, Type: &kind, ID: &id}
	if _, err := session.Configure(ctx, configured); err != nil {
		return err
	}
	urn := resource.NewURN("template", "template", "", token, "template")
	made, err := session.Create(ctx, plugin.CreateRequest{
		URN: urn, Name: "template", Type: token, Properties: inputs(0, 0),
	})
	if err != nil {
		return fmt.Errorf("the template cannot be created: %w", err)
	}
	i.template = made.Properties
	return nil
}

// The outputs of an object that was created with `inputs(0, 0)`.
func (i *isthmus) outputs(id string) property.Map {
	return i.template.Set("id", property.New(id))
}

type provider struct {
	plugin.Provider
	wanted *fuzzing.ProviderSpec
	faults *faults
	seen   counts
	lock   *sync.Mutex
}

// The URN of a resource, as one of the sandbox.
func ours(urn resource.URN) resource.URN {
	parents, _, _ := cutLast(string(urn.QualifiedType()), "$")
	return resource.NewURN(urn.Stack(), urn.Project(), tokens.Type(parents), token, urn.Name())
}

func cutLast(text, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(text, separator); at >= 0 {
		return text[:at], text[at+len(separator):], true
	}
	return "", text, false
}

// The properties of an object that misbehaves during an operation.
func asking(properties property.Map, mode, operation string) property.Map {
	return properties.Set("mode", property.New(mode)).Set("during", property.New(operation))
}

// The name of a call for the counts.
func called(name string, isPreview bool) string {
	if isPreview {
		return name + " in a preview"
	}
	return name
}

// Counts a call by what the fixture asks for, and says whether it failed as it was asked to, and only then.
func (p *provider) judge(call string, urn resource.URN, wanted string, mustFail bool, err error) {
	if wanted == "" {
		wanted = "well"
	}
	p.lock.Lock()
	p.seen[call+" "+wanted]++
	p.lock.Unlock()
	switch {
	case mustFail && err == nil:
		p.faults.add("%s of %s succeeded, though the provider fails", call, urn)
	case !mustFail && err != nil:
		p.faults.add("%s of %s failed: %v", call, urn, err)
	case mustFail && !strings.Contains(err.Error(), "sandbox_faulty failed"):
		p.faults.add("%s of %s failed with another error than the provider's: %v", call, urn, err)
	}
}

// The fixture closes its sessions.
func (p *provider) Close() error { return nil }

func (p *provider) Pkg() tokens.Package { return "sandbox" }

func (p *provider) GetPluginInfo(context.Context) (plugin.PluginInfo, error) {
	version := semver.MustParse("1.0.0")
	return plugin.PluginInfo{Version: &version}, nil
}

func (p *provider) CheckConfig(_ context.Context, request plugin.CheckConfigRequest) (plugin.CheckConfigResponse, error) {
	return plugin.CheckConfigResponse{Properties: request.News}, nil
}

func (p *provider) DiffConfig(context.Context, plugin.DiffConfigRequest) (plugin.DiffConfigResponse, error) {
	return plugin.DiffResult{Changes: plugin.DiffNone}, nil
}

func (p *provider) Configure(ctx context.Context, request plugin.ConfigureRequest) (plugin.ConfigureResponse, error) {
	request.Inputs = property.Map{}
	return p.Provider.Configure(ctx, request)
}

func (p *provider) Check(ctx context.Context, request plugin.CheckRequest) (plugin.CheckResponse, error) {
	urn, action := request.URN, p.wanted.Diff[request.URN]
	size, place := number(request.OldInputs, "size"), number(request.OldInputs, "place")
	switch action {
	case fuzzing.ProviderDiffChange:
		size++
	case fuzzing.ProviderDiffDeleteBeforeReplace, fuzzing.ProviderDiffDeleteAfterReplace:
		place++
	}
	sent := inputsOf(urn, size, place)
	request.URN, request.Type, request.NewInputs = ours(urn), token, sent
	response, err := p.Provider.Check(ctx, request)
	p.judge("Check", urn, "", false, err)
	if len(response.Failures) > 0 {
		p.faults.add("Check of %s refuses its inputs: %v", urn, response.Failures)
	}
	for name := range sent.All {
		if !response.Properties.Get(name).Equals(sent.Get(name)) {
			p.faults.add("Check of %s changes %s: %v", urn, name, response.Properties.Get(name))
		}
	}
	return response, err
}

func number(properties property.Map, name string) float64 {
	value := properties.Get(name)
	if value.IsNumber() {
		return value.AsNumber()
	}
	var found float64
	if value.IsString() {
		_, _ = fmt.Sscan(value.AsString(), &found)
	}
	return found
}

func (p *provider) Diff(ctx context.Context, request plugin.DiffRequest) (plugin.DiffResponse, error) {
	urn, action := request.URN, p.wanted.Diff[request.URN]
	request.URN, request.Type = ours(urn), token
	mustFail := action == fuzzing.ProviderDiffFailure
	if mustFail {
		request.NewInputs = asking(request.NewInputs, "error", "plan")
	}
	response, err := p.Provider.Diff(ctx, request)
	p.judge("Diff", urn, string(action), mustFail, err)
	if err != nil {
		return response, err
	}
	differ := func(name string) bool {
		return number(request.OldOutputs, name) != number(request.NewInputs, name)
	}
	// The state keeps what has become a secret as one from then on, by an update.
	becomesSecret := request.NewInputs.Get("place").Secret() != request.OldOutputs.Get("place").Secret()
	mustReplace, mustChange := differ("place"), differ("place") || differ("size") || becomesSecret
	if isChange := response.Changes == plugin.DiffSome; isChange != mustChange {
		p.faults.add("Diff of %s says that it changes: %v, for %v and %v", urn, isChange, request.OldOutputs, request.NewInputs)
	}
	if response.Replace() != mustReplace {
		p.faults.add("Diff of %s says that it is replaced: %v, for %v and %v", urn, response.Replace(), request.OldOutputs, request.NewInputs)
	}
	// Terraform's protocol has no word for the order: it is the program's.
	response.DeleteBeforeReplace = action == fuzzing.ProviderDiffDeleteBeforeReplace
	return response, err
}

func (p *provider) Create(ctx context.Context, request plugin.CreateRequest) (plugin.CreateResponse, error) {
	urn, action := request.URN, p.wanted.Create[request.URN]
	request.URN, request.Type = ours(urn), token
	// A preview makes a plan, and the sandbox refuses the creation alone.
	mustFail := action == fuzzing.ProviderCreateFailure && !request.Preview
	sent := request.Properties
	if mustFail {
		request.Properties = asking(sent, "error", "create")
	}
	response, err := p.Provider.Create(ctx, request)
	p.judge(called("Create", request.Preview), urn, string(action), mustFail, err)
	if isMade := response.ID != ""; err == nil && isMade == request.Preview {
		p.faults.add("Create of %s makes an object: %v, in a preview: %v", urn, isMade, request.Preview)
	}
	p.compare("Create", urn, sent, response.Properties, err)
	return response, err
}

// Whether the outputs have what the inputs say.
func (p *provider) compare(call string, urn resource.URN, inputs, outputs property.Map, err error) {
	if err != nil {
		return
	}
	for _, name := range []string{"size", "place"} {
		if number(inputs, name) != number(outputs, name) {
			p.faults.add("%s of %s: %s is %v instead of %v", call, urn, name, outputs.Get(name), inputs.Get(name))
		}
		if inputs.Get(name).Secret() && !outputs.Get(name).Secret() {
			p.faults.add("%s of %s: %s is a secret no more", call, urn, name)
		}
	}
}

func (p *provider) Update(ctx context.Context, request plugin.UpdateRequest) (plugin.UpdateResponse, error) {
	urn, action := request.URN, p.wanted.Update[request.URN]
	request.URN, request.Type = ours(urn), token
	mustFail := action == fuzzing.ProviderUpdateFailure && !request.Preview
	sent := request.NewInputs
	if mustFail {
		request.NewInputs = asking(sent, "error", "update")
	}
	response, err := p.Provider.Update(ctx, request)
	p.judge(called("Update", request.Preview), urn, string(action), mustFail, err)
	p.compare("Update", urn, sent, response.Properties, err)
	return response, err
}

func (p *provider) Delete(ctx context.Context, request plugin.DeleteRequest) (plugin.DeleteResponse, error) {
	urn, action := request.URN, p.wanted.Delete[request.URN]
	request.URN, request.Type = ours(urn), token
	mustFail := action == fuzzing.ProviderDeleteFailure
	if mustFail {
		request.Outputs = asking(request.Outputs, "error", "delete")
	}
	response, err := p.Provider.Delete(ctx, request)
	p.judge("Delete", urn, string(action), mustFail, err)
	return response, err
}

func (p *provider) Read(ctx context.Context, request plugin.ReadRequest) (plugin.ReadResponse, error) {
	urn, action := request.URN, p.wanted.Read[request.URN]
	request.URN, request.Type = ours(urn), token
	mustFail := action == fuzzing.ProviderReadFailure
	before := request.State
	switch action {
	case fuzzing.ProviderReadFailure:
		request.State = asking(before, "error", "read")
	case fuzzing.ProviderReadDeleted:
		request.State = asking(before, "gone", "read")
	}
	response, err := p.Provider.Read(ctx, request)
	p.judge("Read", urn, string(action), mustFail, err)
	if err != nil {
		return response, err
	}
	if isGone := response.ID == ""; isGone != (action == fuzzing.ProviderReadDeleted) {
		p.faults.add("Read of %s says that the object is gone: %v", urn, isGone)
	} else if !isGone {
		p.compare("Read", urn, before, *response.Outputs, err)
	}
	return response, err
}
