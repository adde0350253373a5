// Drives isthmus by the fuzzer of Pulumi's own engine.
//
// The fuzzer (engine/lifecycletest/fuzzing of Pulumi) generates a snapshot of a stack, a program, what its providers do, and an
// operation, runs the engine, and verifies the snapshot that comes out. There the providers are mocks. Here each of them is a session
// of one isthmus, above the sandbox provider: every call of the engine goes to isthmus and to Terraform's protocol, and each answer is
// compared with what the fixture asks for.
//
//	engine-fuzzer --plugin FILE --provider FILE [--fixtures N] [--seed N]
//
// A failure prints the smallest fixture that has it. The same seed gives the same fixtures.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulumi/pulumi/pkg/v3/resource/deploy/deploytest"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"pgregory.net/rapid"
)

// The longest time of one fixture: the fuzzer's own.
const patience = 20 * time.Second

func main() {
	// Rapid reads a flag of it.
	testing.Init()
	pluginFile := flag.String("plugin", "", "the executable of isthmus, called pulumi-resource-terraform-provider")
	providerFile := flag.String("provider", "", "the sandbox provider, built with its switches for misbehaviour")
	fixtures := flag.Int("fixtures", 1000, "how many fixtures to run")
	seed := flag.Uint64("seed", 1, "of the fixtures")
	flag.Parse()
	if *pluginFile == "" || *providerFile == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*pluginFile, *providerFile, *fixtures, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "engine-fuzzer:", err)
		os.Exit(1)
	}
}

func run(pluginFile, providerFile string, fixtures int, seed uint64) error {
	// As the fuzzer's own tests do: a panic of the engine is a failure of its fixture.
	for _, name := range []string{"PULUMI_DEV", "PULUMI_GOROUTINE_PANIC_RECOVERY"} {
		if err := os.Setenv(name, "true"); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"rapid.checks": strconv.Itoa(fixtures), "rapid.seed": strconv.FormatUint(seed, 10), "rapid.nofailfile": "true",
	} {
		if err := flag.Set(name, value); err != nil {
			return err
		}
	}
	isthmus, err := start(pluginFile, providerFile)
	if err != nil {
		return err
	}
	defer isthmus.stop()
	started := time.Now()
	outcome := &outcome{}
	rapid.Check(outcome, isthmus.fixture)
	fmt.Println(isthmus.seen.table())
	fmt.Printf("%d fixtures of seed %d in %s\n", isthmus.ran, seed, time.Since(started).Round(time.Second))
	if outcome.Failed() {
		return errors.New("a fixture failed (see above)")
	}
	return isthmus.ended()
}

// A running isthmus, which serves all fixtures.
type isthmus struct {
	process  *exec.Cmd
	exited   chan error
	address  string
	provider string
	home     string
	seen     counts
	// How many fixtures were generated, and how many of them ran.
	fixtures, ran int
	lock          sync.Mutex
	// The outputs of an object that isthmus has made: those of a snapshot's resources are made from it.
	template property.Map
}

// Starts isthmus as an engine does.
func start(file, provider string) (*isthmus, error) {
	home, err := os.MkdirTemp("", "engine-fuzzer-")
	if err != nil {
		return nil, err
	}
	// Each session names another engine by Handshake.
	log := (&faults{}).log()
	engine := deploytest.NewPluginHost(log, log, nil).ServerAddr()
	process := exec.Command(file, engine)
	process.Env = append(os.Environ(), "ISTHMUS_HOME="+home, "ISTHMUS_DAEMON=off", "SANDBOX_DIR="+home)
	process.Stderr = os.Stderr
	// It ends with its standard input.
	if _, err := process.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	port, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s printed no port: %w", file, err)
	}
	self := &isthmus{
		process: process, exited: make(chan error, 1), address: "127.0.0.1:" + strings.TrimSpace(port),
		provider: provider, home: home, seen: counts{},
	}
	go func() { self.exited <- process.Wait() }()
	if err := self.makeTemplate(); err != nil {
		self.stop()
		return nil, err
	}
	return self, nil
}

// A session: isthmus tells sessions apart by their connections.
func (i *isthmus) session(engine string) (plugin.Provider, error) {
	connection, err := grpc.NewClient(i.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	session := closing{plugin.NewProviderWithClient(nil, pulumirpc.NewResourceProviderClient(connection), false), connection}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	handshake := plugin.ProviderHandshakeRequest{
		EngineAddress: engine, ConfigureWithUrn: true, SupportsViews: true, SupportsRefreshBeforeUpdate: true,
		InvokeWithPreview: true, AcceptsByteString: true, SendsOldOutputsToCheck: true, AcceptsOutputsInInvoke: true,
	}
	if _, err := session.Handshake(ctx, handshake); err != nil {
		return nil, err
	}
	parameters := &plugin.ParameterizeArgs{Args: []string{i.provider}}
	if _, err := session.Parameterize(ctx, plugin.ParameterizeRequest{Parameters: parameters}); err != nil {
		return nil, err
	}
	return session, nil
}

// A session that is closed with its connection.
type closing struct {
	plugin.Provider
	connection *grpc.ClientConn
}

func (c closing) Close() error { return c.connection.Close() }

// Whether it still runs, as it has to.
func (i *isthmus) ended() error {
	select {
	case err := <-i.exited:
		return fmt.Errorf("isthmus ended by itself: %v", err)
	default:
		return nil
	}
}

func (i *isthmus) stop() {
	_ = i.process.Process.Kill()
	_ = os.RemoveAll(i.home)
}

// How often each call was seen, by what the fixture asks for.
type counts map[string]int

func (c counts) table() string {
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&table, "| %s | %d |\n", name, c[name])
	}
	return table.String()
}

// What rapid reports to.
type outcome struct{ failed bool }

func (o *outcome) Helper()                         {}
func (o *outcome) Name() string                    { return "engine-fuzzer" }
func (o *outcome) Logf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (o *outcome) Log(args ...any)                 { fmt.Println(args...) }
func (o *outcome) Skipf(format string, args ...any) {
	panic(fmt.Sprintf("all fixtures were skipped: "+format, args...))
}
func (o *outcome) Skip(args ...any)                  { o.Skipf("%v", args) }
func (o *outcome) SkipNow()                          { o.Skipf("") }
func (o *outcome) Errorf(format string, args ...any) { o.failed = true; o.Logf(format, args...) }
func (o *outcome) Error(args ...any)                 { o.failed = true; o.Log(args...) }
func (o *outcome) Fatalf(format string, args ...any) { o.Errorf(format, args...); runtime.Goexit() }
func (o *outcome) Fatal(args ...any)                 { o.Error(args...); runtime.Goexit() }
func (o *outcome) FailNow()                          { o.failed = true; runtime.Goexit() }
func (o *outcome) Fail()                             { o.failed = true }
func (o *outcome) Failed() bool                      { return o.failed }
