// Command terraform-provider-conformance is the provider that isthmus is tested against when the sandbox (ours, in Rust) would only
// confirm our own reading of the protocol: it is built on HashiCorp's framework and SDK, so what goes over the wire here is what
// nearly every provider in the world sends.
//
// It serves protocol 5 or 6 from one binary, keeps its objects as files that a test may edit, and writes down every call that it
// receives. README.md lists what each of its objects is for.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-mux/tf5muxserver"
	"github.com/hashicorp/terraform-plugin-mux/tf5to6server"
	"github.com/hashicorp/terraform-plugin-mux/tf6muxserver"
	"github.com/hashicorp/terraform-plugin-mux/tf6to5server"
	"google.golang.org/grpc"

	"isthmus/tests/provider/shapes"
)

const (
	// address is the name under which logs speak of this provider; no registry knows it.
	address = "registry.terraform.io/isthmus/conformance"

	// messageLimit is what HashiCorp's own Serve functions set, in bytes each way.
	messageLimit = 256 << 20
)

func main() {
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-conformance:", err)
		os.Exit(1)
	}
}

// serve does what tf5server.Serve and tf6server.Serve do, but with interceptors on the gRPC server: those functions leave no room
// for any, and only an interceptor sees every call of either protocol, the plugin library's own services included.
func serve(ctx context.Context) error {
	calls, err := openCallLog(os.Getenv("CONFORMANCE_LOG"), os.Getenv("CONFORMANCE_REQUESTS"))
	if err != nil {
		return err
	}

	version, plugins, err := pluginsFor(ctx, os.Getenv("CONFORMANCE_PROTOCOL"), words(os.Getenv("CONFORMANCE_VARIANTS")))
	if err != nil {
		return err
	}

	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  version,
			MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		Plugins: plugins,
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options,
				grpc.MaxRecvMsgSize(messageLimit),
				grpc.MaxSendMsgSize(messageLimit),
				grpc.ChainUnaryInterceptor(calls.unary),
				grpc.ChainStreamInterceptor(calls.stream),
			)...)
		},
	})

	return nil
}

// pluginsFor joins the three servers that make the provider, for the protocol that the environment asks for: the framework's, which
// has the schema of the provider's configuration; the SDK's, which is told only the part of the configuration that it knows; and the
// raw one of the shapes.
func pluginsFor(ctx context.Context, protocol string, variants []string) (uint, plugin.PluginSet, error) {
	ages, err := agesOf()
	if err != nil {
		return 0, nil, err
	}
	isCrossed := slices.Contains(variants, crossed)
	variants = slices.DeleteFunc(variants, func(variant string) bool { return variant == crossed })
	switch protocol {
	case "5":
		modern := providerserver.NewProtocol5(&conformanceProvider{protocol: 5, ages: ages, isCrossed: isCrossed})
		schema, err := modern().GetProviderSchema(ctx, &tfprotov5.GetProviderSchemaRequest{})
		if err != nil {
			return 0, nil, err
		}
		configType := schema.Provider.ValueType()
		raw, err := shapes.New(5, variants, configType, openObjects)
		if err != nil {
			return 0, nil, err
		}
		downgraded, err := tf6to5server.DowngradeServer(ctx, func() tfprotov6.ProviderServer { return raw })
		if err != nil {
			return 0, nil, err
		}
		mux, err := tf5muxserver.NewMuxServer(ctx,
			modern,
			newLegacyServer(configType, ages),
			func() tfprotov5.ProviderServer { return downgraded },
		)
		if err != nil {
			return 0, nil, err
		}
		served := &tf5server.GRPCProviderPlugin{
			Name:         address,
			GRPCProvider: func() tfprotov5.ProviderServer { return mux.ProviderServer() },
		}
		return 5, plugin.PluginSet{"provider": served}, nil

	case "", "6":
		modern := providerserver.NewProtocol6(&conformanceProvider{protocol: 6, ages: ages, isCrossed: isCrossed})
		schema, err := modern().GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
		if err != nil {
			return 0, nil, err
		}
		configType := schema.Provider.ValueType()
		raw, err := shapes.New(6, variants, configType, openObjects)
		if err != nil {
			return 0, nil, err
		}
		upgraded, err := tf5to6server.UpgradeServer(ctx, newLegacyServer(configType, ages))
		if err != nil {
			return 0, nil, err
		}
		mux, err := tf6muxserver.NewMuxServer(ctx,
			modern,
			func() tfprotov6.ProviderServer { return upgraded },
			func() tfprotov6.ProviderServer { return raw },
		)
		if err != nil {
			return 0, nil, err
		}
		served := &tf6server.GRPCProviderPlugin{
			Name:         address,
			GRPCProvider: func() tfprotov6.ProviderServer { return mux.ProviderServer() },
		}
		return 6, plugin.PluginSet{"provider": served}, nil

	default:
		return 0, nil, fmt.Errorf("CONFORMANCE_PROTOCOL is %q; it may be 5 or 6 (the default)", protocol)
	}
}

func openObjects(directory string) shapes.Objects {
	return &store{directory: directoryOf(directory)}
}

// words splits what commas separate.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
