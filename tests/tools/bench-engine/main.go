// Command bench-engine is the engine's side of the wire for benches/: plugins are called by grpc-go, as engines call them, and log
// to its server.
//
// It knows no message. It prints the address of its service, and then makes each call that standard input asks for, many at once.
// All numbers are big-endian.
//
//	question: length of the rest (4), id (8), port of the plugin (2), length of the method (2), method, message
//	answer:   length of the rest (4), id (8), nanoseconds of the call (8), status code (4), message or reason
//
// A question to port 0 is for itself, and the answer is what was logged so far: messages (8), errors among them (8). One without a
// method hangs up, and has no answer.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// The largest message that an engine takes.
const largest = 400 << 20

// The severity of an error in a LogRequest, whose field it is.
const (
	severityField = 1
	severityError = 3
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-engine:", err)
		os.Exit(1)
	}
}

func run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var logged log
	server := grpc.NewServer(grpc.ForceServerCodecV2(bytesCodec{}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "pulumirpc.Engine",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Log", Handler: logged.handle}},
	}, nil)
	go func() { fmt.Fprintln(os.Stderr, "bench-engine:", server.Serve(listener)) }()
	fmt.Println(listener.Addr())

	plugins := plugins{connections: make(map[uint16]*grpc.ClientConn)}
	answers := answers{to: os.Stdout}
	questions := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		asked, err := read(questions)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if asked.port == 0 {
			answers.write(asked.id, 0, codes.OK, logged.counts())
			continue
		}
		if asked.method == "" {
			plugins.hangUp(asked.port)
			continue
		}
		connection, err := plugins.at(asked.port)
		if err != nil {
			return err
		}
		go func() {
			var answer []byte
			began := time.Now()
			err := connection.Invoke(context.Background(), asked.method, &asked.message, &answer)
			took := time.Since(began)
			if err != nil {
				answer = []byte(status.Convert(err).Message())
			}
			answers.write(asked.id, took, status.Code(err), answer)
		}()
	}
}

type question struct {
	id      uint64
	port    uint16
	method  string
	message []byte
}

func read(from io.Reader) (question, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return question{}, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(from, rest); err != nil {
		return question{}, err
	}
	id, port, method := binary.BigEndian.Uint64(rest), binary.BigEndian.Uint16(rest[8:]), binary.BigEndian.Uint16(rest[10:])
	rest = rest[12:]
	return question{id, port, string(rest[:method]), rest[method:]}, nil
}

type answers struct {
	lock sync.Mutex
	to   io.Writer
}

func (answers *answers) write(id uint64, took time.Duration, code codes.Code, rest []byte) {
	answer := make([]byte, 0, 24+len(rest))
	answer = binary.BigEndian.AppendUint32(answer, uint32(20+len(rest)))
	answer = binary.BigEndian.AppendUint64(answer, id)
	answer = binary.BigEndian.AppendUint64(answer, uint64(took))
	answer = binary.BigEndian.AppendUint32(answer, uint32(code))
	answer = append(answer, rest...)
	answers.lock.Lock()
	defer answers.lock.Unlock()
	// Whoever reads no more has ended, and ends this.
	_, _ = answers.to.Write(answer)
}

// The connections of an engine, one for each plugin, with the options that it has.
type plugins struct {
	connections map[uint16]*grpc.ClientConn
}

func (plugins *plugins) at(port uint16) (*grpc.ClientConn, error) {
	if connection := plugins.connections[port]; connection != nil {
		return connection, nil
	}
	connection, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", port),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largest), grpc.ForceCodecV2(bytesCodec{}), grpc.WaitForReady(true)))
	if err == nil {
		plugins.connections[port] = connection
	}
	return connection, err
}

func (plugins *plugins) hangUp(port uint16) {
	if connection := plugins.connections[port]; connection != nil {
		_ = connection.Close()
		delete(plugins.connections, port)
	}
}

// What plugins have logged.
type log struct {
	messages, errors atomic.Uint64
}

func (log *log) counts() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, log.messages.Load()), log.errors.Load())
}

func (log *log) handle(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var message []byte
	if err := decode(&message); err != nil {
		return nil, err
	}
	log.messages.Add(1)
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, status.Error(codes.InvalidArgument, "this is no LogRequest")
		}
		if severity, read := protowire.ConsumeVarint(message[tag:]); read > 0 && number == severityField && severity == severityError {
			log.errors.Add(1)
		}
		value := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if value < 0 {
			return nil, status.Error(codes.InvalidArgument, "this is no LogRequest")
		}
		message = message[tag+value:]
	}
	empty := []byte{}
	return &empty, nil
}

// A codec that leaves messages as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(value any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*value.(*[]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, value any) error {
	*value.(*[]byte) = data.Materialize()
	return nil
}
