package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// callLog appends one JSON object per call received to a file, so that a test can assert which calls were made, in which order, and
// with what in them. The line is written before the call is handled: a call that hangs or kills the process has been seen, too.
//
// Requests are read by reflection over their protobuf descriptors, because HashiCorp's generated types are internal to its module,
// and because one reader then does for both protocols. Of each top-level field it keeps what a sequence test needs and nothing
// secret: scalars as they are, dynamic values as "absent", "null" or "value", bytes by their length, messages and lists by
// presence and count.
type callLog struct {
	mutex sync.Mutex
	file  *os.File
}

// openCallLog returns a log that writes nothing if the path is empty.
func openCallLog(path string) (*callLog, error) {
	if path == "" {
		return &callLog{}, nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("CONFORMANCE_LOG cannot be opened: %w", err)
	}
	return &callLog{file: file}, nil
}

func (l *callLog) unary(ctx context.Context, request any, call *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	l.write(call.FullMethod, request)
	return handle(ctx, request)
}

func (l *callLog) stream(server any, stream grpc.ServerStream, call *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return handle(server, &loggedStream{ServerStream: stream, log: l, method: call.FullMethod})
}

// loggedStream logs each message that a streaming call receives; of calls that stream only the answer that is one, the request.
type loggedStream struct {
	grpc.ServerStream
	log    *callLog
	method string
}

func (s *loggedStream) RecvMsg(message any) error {
	err := s.ServerStream.RecvMsg(message)
	if err == nil {
		s.log.write(s.method, message)
	}
	return err
}

// write appends the line. A full disk must not change how the provider behaves, so a failed write is reported on stderr only.
func (l *callLog) write(fullMethod string, request any) {
	if l.file == nil {
		return
	}

	service, method, _ := strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")
	line := map[string]any{"service": service, "method": method, "pid": os.Getpid()}
	if message, ok := request.(proto.Message); ok {
		describeFields(line, message.ProtoReflect())
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance: call log:", err)
		return
	}

	// One write of a whole line: several provider processes may share the file.
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if _, err := l.file.Write(append(encoded, '\n')); err != nil {
		fmt.Fprintln(os.Stderr, "conformance: call log:", err)
	}
}

func describeFields(line map[string]any, message protoreflect.Message) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		line[string(field.Name())] = describeField(field, message.Get(field))
	}
}

func describeField(field protoreflect.FieldDescriptor, value protoreflect.Value) any {
	switch {
	case field.IsMap():
		return value.Map().Len()
	case field.IsList():
		return value.List().Len()
	case field.Kind() == protoreflect.BytesKind:
		return len(value.Bytes())
	case field.Kind() == protoreflect.EnumKind:
		return int32(value.Enum())
	case field.Kind() != protoreflect.MessageKind:
		return value.Interface()
	case field.Message().Name() == "DynamicValue":
		return describeDynamicValue(value.Message())
	case field.Message().Name() == "ClientCapabilities" && value.Message().IsValid():
		capabilities := map[string]any{}
		describeFields(capabilities, value.Message())
		return capabilities
	case value.Message().IsValid():
		return "value"
	default:
		return "absent"
	}
}

// describeDynamicValue tells the three cases of a DynamicValue apart; a null travels as the one byte 0xc0 of msgpack.
func describeDynamicValue(message protoreflect.Message) string {
	if !message.IsValid() {
		return "absent"
	}
	msgpack := message.Get(message.Descriptor().Fields().ByName("msgpack")).Bytes()
	encodedJSON := message.Get(message.Descriptor().Fields().ByName("json")).Bytes()
	switch {
	case len(msgpack) == 0 && len(encodedJSON) == 0:
		return "absent"
	case len(msgpack) == 1 && msgpack[0] == 0xc0, string(encodedJSON) == "null":
		return "null"
	default:
		return "value"
	}
}
