// One fixture of the fuzzer: the snapshot gets the state of real objects, and the engine runs with sessions of isthmus.
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blang/semver"
	lt "github.com/pulumi/pulumi/pkg/v3/engine/lifecycletest/framework"
	"github.com/pulumi/pulumi/pkg/v3/engine/lifecycletest/fuzzing"
	"github.com/pulumi/pulumi/pkg/v3/resource/deploy"
	"github.com/pulumi/pulumi/pkg/v3/resource/deploy/deploytest"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack/snapshot"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/providers"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/result"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is wrong with a fixture, of all that run in it at once.
type faults struct {
	lock sync.Mutex
	said []string
}

func (f *faults) add(format string, args ...any) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// The sessions of a fixture, open until it ends: a snapshot may have the same provider twice, and the engine uses the one after it has
// closed the other.
type sessions struct {
	lock sync.Mutex
	open []plugin.Provider
}

func (s *sessions) add(session plugin.Provider) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.open = append(s.open, session)
}

func (s *sessions) close() {
	for _, session := range s.open {
		_ = session.Close()
	}
}

// The engine's log, as isthmus writes to it: it has nothing to warn of.
func (f *faults) log() diag.Sink { return sink{f} }

type sink struct{ faults *faults }

func (s sink) Logf(severity diag.Severity, said *diag.Diag, args ...any) {
	if severity == diag.Warning {
		s.Warningf(said, args...)
	}
}

func (s sink) Warningf(said *diag.Diag, args ...any) {
	s.faults.add("isthmus warns of "+said.Message, args...)
}

func (sink) Debugf(*diag.Diag, ...any)   {}
func (sink) Infof(*diag.Diag, ...any)    {}
func (sink) Infoerrf(*diag.Diag, ...any) {}
func (sink) Errorf(*diag.Diag, ...any)   {}

func (f *faults) all() string {
	f.lock.Lock()
	defer f.lock.Unlock()
	return strings.Join(f.said, "\n")
}

// What is generated, weighted towards calls: components call no provider, and an operation ends with its first failure.
var (
	resources = fuzzing.ResourceSpecOptions{Custom: rapid.SampledFrom([]bool{true, true, true, false})}
	snapshots = fuzzing.SnapshotSpecOptions{ResourceOpts: resources}
	programs  = fuzzing.ProgramSpecOptions{
		PrependResourceOpts: resources, InsertResourceOpts: resources, AppendResourceOpts: resources,
	}
	actions = fuzzing.ProviderSpecOptions{
		CreateAction: rarely(fuzzing.ProviderCreateFailure),
		DeleteAction: rarely(fuzzing.ProviderDeleteFailure),
		DiffAction: rapid.SampledFrom([]fuzzing.ProviderDiffSpecAction{
			"", "", "", "", "", "", fuzzing.ProviderDiffFailure, fuzzing.ProviderDiffChange, fuzzing.ProviderDiffChange,
			fuzzing.ProviderDiffDeleteAfterReplace, fuzzing.ProviderDiffDeleteBeforeReplace,
		}),
		ReadAction:   rarely(fuzzing.ProviderReadFailure, fuzzing.ProviderReadDeleted),
		UpdateAction: rarely(fuzzing.ProviderUpdateFailure),
	}
	plans = fuzzing.PlanSpecOptions{
		Operation: rapid.SampledFrom([]fuzzing.OperationSpec{
			fuzzing.PlanOperationUpdate, fuzzing.PlanOperationUpdate, fuzzing.PlanOperationUpdate, fuzzing.PlanOperationRefresh,
			fuzzing.PlanOperationRefreshV2, fuzzing.PlanOperationDestroy, fuzzing.PlanOperationDestroyV2,
		}),
		TargetCount: rapid.SampledFrom([]int{0, 0, 0, 1, 3}),
	}
)

// One action in ten is one of these.
func rarely[Action ~string](actions ...Action) *rapid.Generator[Action] {
	return rapid.SampledFrom(append(make([]Action, 9*len(actions)), actions...))
}

func (i *isthmus) fixture(t *rapid.T) {
	i.fixtures++
	// A stack of its own: what isthmus knows of one fixture's objects is nothing to another's.
	stack := fuzzing.StackSpecOptions{Project: "fuzzed", Stack: fmt.Sprintf("fixture-%d", i.fixtures)}
	snap := fuzzing.GeneratedSnapshotSpec(stack, snapshots).Draw(t, "SnapshotSpec")
	program := fuzzing.GeneratedProgramSpec(snap, stack, programs).Draw(t, "ProgramSpec")
	wanted := fuzzing.GeneratedProviderSpec(program, actions).Draw(t, "ProviderSpec")
	plan := fuzzing.GeneratedPlanSpec(snap, plans).Draw(t, "PlanSpec")
	hasPreview := rapid.Bool().Draw(t, "HasPreview")
	// Faults of the engine that its makers know.
	if fuzzing.DefaultExclusionRules().ShouldExclude(snap, program, wanted, plan) {
		t.Skip("the engine is known to fail")
	}
	i.ran++

	before := snap.AsSnapshot()
	for number, state := range before.Resources {
		if state.Custom && !providers.IsProviderType(state.Type) {
			state.ID = resource.ID(fmt.Sprintf("%s-%d", state.ID, number))
			state.Inputs = resource.ToResourcePropertyMap(inputs(0, 0))
			state.Outputs = resource.ToResourcePropertyMap(i.outputs(string(state.ID)))
		}
	}
	require.NoError(t, before.VerifyIntegrity(), "the fixture's snapshot")

	faults, sessions := &faults{}, &sessions{}
	defer sessions.close()
	load := func(host plugin.Host) (plugin.Provider, error) {
		session, err := i.session(host.ServerAddr())
		if err != nil {
			faults.add("no session: %v", err)
			return nil, err
		}
		sessions.add(session)
		return &provider{Provider: session, wanted: wanted, faults: faults, seen: i.seen, lock: &i.lock}, nil
	}
	loaders := make([]*deploytest.ProviderLoader, 0, len(wanted.Packages))
	for _, name := range slices.Sorted(maps.Keys(wanted.Packages)) {
		version := semver.MustParse("1.0.0")
		loaders = append(loaders, deploytest.NewProviderLoaderWithHost(
			name, version, load, deploytest.WithoutGrpc, deploytest.WithoutHandshake))
	}
	log := faults.log()
	host := deploytest.NewPluginHostF(log, log, program.AsLanguageRuntimeF(t), nil, nil, loaders...)
	options, operation := plan.Executors(t, host)
	options.SkipDisplayTests = true
	i.verify(t, stack, operation, options, before, hasPreview, faults)
	if said := faults.all(); said != "" {
		t.Fatalf("%s\n%s\n%s\n%s\n%s", said, snap.Pretty(""), program.Pretty(""), wanted.Pretty(""), plan.Pretty(""))
	}
}

// Runs the operation, some after a preview, and verifies the snapshot that it leaves.
func (i *isthmus) verify(
	t *rapid.T, stack fuzzing.StackSpecOptions, operation lt.TestOp, options lt.TestUpdateOptions, before *deploy.Snapshot,
	hasPreview bool, faults *faults,
) {
	names := &lt.TestPlan{Project: stack.Project, Stack: stack.Stack}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan struct{})
	run := func(isPreview bool) {
		after, err := operation.RunWithContextStep(
			ctx, names.GetProject(), names.GetTarget(t, before), options, isPreview, names.BackendClient, nil, "0")
		if ctx.Err() != nil {
			faults.add("the operation took longer than %s", patience)
			return
		}
		said := []error{err}
		if !isPreview {
			said = append(said, after.VerifyIntegrity())
		}
		for _, error := range said {
			if _, isFault := snapshot.AsSnapshotIntegrityError(error); isFault {
				faults.add("the snapshot: %v", error)
			}
		}
		// Everything else that a provider refuses ends the operation so.
		if err != nil && !result.IsBail(err) {
			faults.add("the engine: %v", err)
		}
	}
	go func() {
		defer close(ended)
		if hasPreview {
			run(true)
		}
		run(false)
	}()
	select {
	case <-ended:
	case <-time.After(patience + 5*time.Second):
		faults.add("the engine hangs")
	}
}
