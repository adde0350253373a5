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
	mutex    sync.Mutex
	file     *os.File
	requests *os.File
}

// openCallLog opens the files of CONFORMANCE_LOG and of CONFORMANCE_REQUESTS. What is not named is not written.
func openCallLog(path, requestsPath string) (*callLog, error) {
	log := &callLog{}
	for _, wanted := range []struct {
		variable, path string
		file           **os.File
	}{{"CONFORMANCE_LOG", path, &log.file}, {"CONFORMANCE_REQUESTS", requestsPath, &log.requests}} {
		if wanted.path == "" {
			continue
		}
		file, err := os.OpenFile(wanted.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be opened: %w", wanted.variable, err)
		}
		*wanted.file = file
	}
	return log, nil
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

// write appends to both logs.
func (l *callLog) write(fullMethod string, request any) {
	if l.requests != nil {
		l.writeRequest(fullMethod, request)
	}
	if l.file != nil {
		l.writeCall(fullMethod, request)
	}
}

// writeRequest appends the whole request, values and secrets included, for tests that compare what two clients send. The library
// has decoded it by then; fields that it does not know are kept, and the order of fields is the one that every encoder has.
func (l *callLog) writeRequest(fullMethod string, request any) {
	message, ok := request.(proto.Message)
	if !ok {
		return
	}
	encoded, err := proto.Marshal(message)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance: request log:", err)
		return
	}
	l.append(l.requests, map[string]any{"method": fullMethod, "process": os.Getpid(), "request": encoded})
}

func (l *callLog) writeCall(fullMethod string, request any) {

	service, method, _ := strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")
	line := map[string]any{"service": service, "method": method, "pid": os.Getpid()}
	if message, ok := request.(proto.Message); ok {
		describeFields(line, message.ProtoReflect())
	}
	l.append(l.file, line)
}

// append writes one line. A full disk must not change how the provider behaves, so a failed write is reported on stderr only.
func (l *callLog) append(file *os.File, line map[string]any) {
	encoded, err := json.Marshal(line)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance: call log:", err)
		return
	}

	// One write of a whole line: several provider processes may share the file.
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if _, err := file.Write(append(encoded, '\n')); err != nil {
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
