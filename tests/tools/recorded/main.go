// Command recorded records the schema of a Terraform provider, and serves what it has recorded as that provider would.
//
//	recorded save PROVIDER FILE
//
// writes the provider's answer to GetProviderSchema (protocol 5: GetSchema), without descriptions, gzipped, to FILE. Started by a
// client of Terraform plugins, it is a provider that gives this answer from the file that RECORDED_SCHEMA names, and knows
// no other call. Tests of large providers' schemas thus need no such provider, which takes minutes and gigabytes to build.
//
// FILE begins with a line that names the protocol; the message follows.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// methods are the calls for the schema, by protocol.
var methods = map[int]string{
	5: "/tfplugin5.Provider/GetSchema",
	6: "/tfplugin6.Provider/GetProviderSchema",
}

// messageLimit is what HashiCorp's own Serve functions set, in bytes each way.
const messageLimit = 256 << 20

var handshake = plugin.HandshakeConfig{
	MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
}

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorded:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 3 && arguments[0] == "save" {
		return save(arguments[1], arguments[2])
	}
	if len(arguments) != 0 {
		return fmt.Errorf("usage: recorded save PROVIDER FILE")
	}
	return serve(os.Getenv("RECORDED_SCHEMA"))
}

func save(provider, file string) error {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: map[int]plugin.PluginSet{5: {"provider": connection{}}, 6: {"provider": connection{}}},
		Cmd:              exec.Command(provider),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		Logger:           hclog.NewNullLogger(),
		GRPCDialOptions:  []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageLimit))},
	})
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		return fmt.Errorf("start %s: %w", provider, err)
	}
	dispensed, err := protocol.Dispense("provider")
	if err != nil {
		return fmt.Errorf("connect to %s: %w", provider, err)
	}
	version := client.NegotiatedVersion()
	// The request is empty in both protocols. All fields of the answer are unknown to an empty message, which keeps them.
	message := &emptypb.Empty{}
	if err := dispensed.(*grpc.ClientConn).Invoke(context.Background(), methods[version], &emptypb.Empty{}, message); err != nil {
		return fmt.Errorf("ask %s for its schema: %w", provider, err)
	}
	answer, err := proto.Marshal(message)
	if err != nil {
		return err
	}

	answer, err = withoutTexts(answer, response)
	if err != nil {
		return err
	}
	return pack(file, version, answer)
}

func pack(file string, version int, answer []byte) error {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	fmt.Fprintln(writer, version)
	if _, err := writer.Write(answer); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, packed.Bytes(), 0o644)
}

func load(file string) (version int, answer []byte, err error) {
	packed, err := os.Open(file)
	if err != nil {
		return 0, nil, err
	}
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	if err != nil {
		return 0, nil, fmt.Errorf("unpack %s: %w", file, err)
	}
	if _, err := fmt.Fscanln(reader, &version); err != nil {
		return 0, nil, fmt.Errorf("read the protocol in %s: %w", file, err)
	}
	answer, err = io.ReadAll(reader)
	return version, answer, err
}

func serve(file string) error {
	version, answer, err := load(file)
	if err != nil {
		return err
	}
	message := &emptypb.Empty{}
	if err := proto.Unmarshal(answer, message); err != nil {
		return fmt.Errorf("decode the schema in %s: %w", file, err)
	}
	config := handshake
	config.ProtocolVersion = uint(version)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: config,
		Plugins:         plugin.PluginSet{"provider": connection{}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			answerSchema := func(_ any, stream grpc.ServerStream) error {
				method, _ := grpc.MethodFromServerStream(stream)
				if method != methods[version] {
					return status.Errorf(codes.Unimplemented, "only the schema is recorded, not %s", method)
				}
				return stream.SendMsg(message)
			}
			return grpc.NewServer(append(options, grpc.UnknownServiceHandler(answerSchema))...)
		},
	})
	return nil
}

// connection is the plugin's client as a bare connection; serving registers nothing, since only one call is known.
type connection struct {
	plugin.NetRPCUnsupportedPlugin
}

func (connection) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }

func (connection) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, client *grpc.ClientConn) (any, error) {
	return client, nil
}
