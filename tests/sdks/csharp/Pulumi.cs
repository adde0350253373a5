// The part of the Pulumi package for .NET that generated SDKs are compiled against: its public signatures, without bodies.
//
// The package itself comes from NuGet alone, which a machine for these tests does not have to reach. Types, members, parameter
// names and defaults are those of Pulumi 3.110, whose generator `tests/tools/sdkgen` has. Members that no generated SDK names are
// left out, except those that an SDK's own members would hide.

using System;
using System.Collections;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Threading;
using System.Threading.Tasks;

namespace Pulumi
{
    public sealed class Output<T>
    {
        internal Output() { }
        public Output<TResult> Apply<TResult>(Func<T, TResult> func) => throw null!;
        public Output<TResult> Apply<TResult>(Func<T, Task<TResult>> func) => throw null!;
        public Output<TResult> Apply<TResult>(Func<T, Input<TResult>?> func) => throw null!;
        public Output<TResult> Apply<TResult>(Func<T, Output<TResult>?> func) => throw null!;
    }

    public static class Output
    {
        public static Output<T> Create<T>(T value) => throw null!;
        public static Output<T> Create<T>(Task<T> value) => throw null!;
        public static Output<T> CreateSecret<T>(T value) => throw null!;
        public static Output<T> CreateSecret<T>(Task<T> value) => throw null!;
        public static Output<T> CreateSecret<T>(Output<T> value) => throw null!;
        public static Output<ImmutableArray<T>> All<T>(params Input<T>[] inputs) => throw null!;
        public static Output<ImmutableArray<T>> All<T>(IEnumerable<Input<T>> inputs) => throw null!;
        public static Output<ImmutableArray<T>> All<T>(params Output<T>[] outputs) => throw null!;
        public static Output<ImmutableArray<T>> All<T>(IEnumerable<Output<T>> outputs) => throw null!;
        public static Output<(T1, T2)> Tuple<T1, T2>(Input<T1> item1, Input<T2> item2) => throw null!;
        public static Output<(T1, T2)> Tuple<T1, T2>(Output<T1> item1, Output<T2> item2) => throw null!;
    }

    public class Input<T>
    {
        private protected Input() { }
        public static implicit operator Input<T>(T value) => throw null!;
        public static implicit operator Input<T>(Output<T> value) => throw null!;
        public static implicit operator Output<T>(Input<T> input) => throw null!;
    }

    public sealed class InputList<T> : Input<ImmutableArray<T>>, IEnumerable, IAsyncEnumerable<Input<T>>
    {
        public void Add(params Input<T>[] inputs) => throw null!;
        public void Add(InputList<T> inputs) => throw null!;
        public void AddRange(InputList<T> inputs) => throw null!;
        public InputList<T> Concat(InputList<T> other) => throw null!;
        public static implicit operator InputList<T>(T value) => throw null!;
        public static implicit operator InputList<T>(Output<T> value) => throw null!;
        public static implicit operator InputList<T>(Input<T> value) => throw null!;
        public static implicit operator InputList<T>(T[] values) => throw null!;
        public static implicit operator InputList<T>(Output<T>[] values) => throw null!;
        public static implicit operator InputList<T>(Input<T>[] values) => throw null!;
        public static implicit operator InputList<T>(List<T> values) => throw null!;
        public static implicit operator InputList<T>(List<Output<T>> values) => throw null!;
        public static implicit operator InputList<T>(List<Input<T>> values) => throw null!;
        public static implicit operator InputList<T>(ImmutableArray<T> values) => throw null!;
        public static implicit operator InputList<T>(ImmutableArray<Output<T>> values) => throw null!;
        public static implicit operator InputList<T>(ImmutableArray<Input<T>> values) => throw null!;
        public static implicit operator InputList<T>(Output<T[]> values) => throw null!;
        public static implicit operator InputList<T>(Output<List<T>> values) => throw null!;
        public static implicit operator InputList<T>(Output<IEnumerable<T>> values) => throw null!;
        public static implicit operator InputList<T>(Output<ImmutableArray<T>> values) => throw null!;
        IEnumerator IEnumerable.GetEnumerator() => throw null!;
        public IAsyncEnumerator<Input<T>> GetAsyncEnumerator(CancellationToken cancellationToken) => throw null!;
    }

    public sealed class InputMap<V> : Input<ImmutableDictionary<string, V>>, IEnumerable, IAsyncEnumerable<Input<KeyValuePair<string, V>>>
    {
        public void Add(string key, Input<V> value) => throw null!;
        public void Add(InputMap<V> values) => throw null!;
        public void AddRange(InputMap<V> values) => throw null!;
        public Input<V> this[string key] { set => throw null!; }
        public static InputMap<V> Merge(InputMap<V> first, InputMap<V> second) => throw null!;
        public static implicit operator InputMap<V>(Dictionary<string, V> values) => throw null!;
        public static implicit operator InputMap<V>(ImmutableDictionary<string, V> values) => throw null!;
        public static implicit operator InputMap<V>(Output<Dictionary<string, V>> values) => throw null!;
        public static implicit operator InputMap<V>(Output<IDictionary<string, V>> values) => throw null!;
        public static implicit operator InputMap<V>(Output<ImmutableDictionary<string, V>> values) => throw null!;
        IEnumerator IEnumerable.GetEnumerator() => throw null!;
        public IAsyncEnumerator<Input<KeyValuePair<string, V>>> GetAsyncEnumerator(CancellationToken cancellationToken) => throw null!;
    }

    public readonly struct Union<T0, T1>
    {
        public static implicit operator Union<T0, T1>(T0 value) => throw null!;
        public static implicit operator Union<T0, T1>(T1 value) => throw null!;
    }

    public sealed class InputUnion<T0, T1> : Input<Union<T0, T1>>
    {
        public static implicit operator InputUnion<T0, T1>(Union<T0, T1> value) => throw null!;
        public static implicit operator InputUnion<T0, T1>(T0 value) => throw null!;
        public static implicit operator InputUnion<T0, T1>(T1 value) => throw null!;
        public static implicit operator InputUnion<T0, T1>(Input<T0> value) => throw null!;
        public static implicit operator InputUnion<T0, T1>(Input<T1> value) => throw null!;
        public static implicit operator InputUnion<T0, T1>(Output<Union<T0, T1>> value) => throw null!;
        public static implicit operator InputUnion<T0, T1>(Output<T0> value) => throw null!;
        public static implicit operator InputUnion<T0, T1>(Output<T1> value) => throw null!;
    }

    public abstract class AssetOrArchive
    {
        private protected AssetOrArchive() { }
    }

    public abstract class Asset : AssetOrArchive
    {
        private protected Asset() { }
    }

    public abstract class Archive : AssetOrArchive
    {
        private protected Archive() { }
    }

    public class Resource
    {
        private protected Resource() { }
        [Output("urn")]
        public Output<string> Urn { get; private protected set; } = null!;
        public string GetResourceType() => throw null!;
        public string GetResourceName() => throw null!;
    }

    public class CustomResource : Resource
    {
        public CustomResource(string type, string name, ResourceArgs? args, CustomResourceOptions? options = null, RegisterPackageRequest? registerPackageRequest = null) { }
        public CustomResource(string type, string name, ResourceArgs? args, CustomResourceOptions? options = null) { }
        [Output("id")]
        public Output<string> Id { get; private protected set; } = null!;
    }

    public class ProviderResource : CustomResource
    {
        public ProviderResource(string package, string name, ResourceArgs args, CustomResourceOptions? options = null) : base(package, name, args, options) { }
        public ProviderResource(string package, string name, ResourceArgs args, CustomResourceOptions? options = null, RegisterPackageRequest? registerPackageRequest = null) : base(package, name, args, options) { }
    }

    public abstract class InputArgs
    {
        private protected abstract void ValidateMember(Type memberType, string fullName);
        protected InputArgs() { }
    }

    public abstract class ResourceArgs : InputArgs
    {
        public static readonly ResourceArgs Empty = null!;
        private protected override void ValidateMember(Type memberType, string fullName) { }
    }

    public abstract class InvokeArgs : InputArgs
    {
        public static readonly InvokeArgs Empty = null!;
        private protected override void ValidateMember(Type memberType, string fullName) { }
    }

    public abstract class CallArgs : InputArgs
    {
        public static readonly CallArgs Empty = null!;
        private protected override void ValidateMember(Type memberType, string fullName) { }
    }

    public class CallOptions
    {
        public Resource? Parent { get; set; }
        public ProviderResource? Provider { get; set; }
        public string? Version { get; set; }
        public string? PluginDownloadURL { get; set; }
    }

    public sealed class DictionaryInvokeArgs : InvokeArgs
    {
        public DictionaryInvokeArgs(ImmutableDictionary<string, object?> dictionary) { }
    }

    public sealed class Alias
    {
        public Input<string>? Type { get; set; }
    }

    public abstract class ResourceOptions
    {
        private protected ResourceOptions() { }
        public Input<string>? Id { get; set; }
        public Resource? Parent { get; set; }
        public InputList<Resource> DependsOn { get; set; } = null!;
        public ProviderResource? Provider { get; set; }
        public string? Version { get; set; }
        public string? PluginDownloadURL { get; set; }
        public List<Input<Alias>> Aliases { get; set; } = null!;
        public List<string> ReplaceOnChanges { get; set; } = null!;
    }

    public sealed class CustomResourceOptions : ResourceOptions
    {
        public List<string> AdditionalSecretOutputs { get; set; } = null!;
        public static CustomResourceOptions Merge(CustomResourceOptions? options1, CustomResourceOptions? options2) => throw null!;
    }

    public class InvokeOptions
    {
        public Resource? Parent { get; set; }
        public ProviderResource? Provider { get; set; }
        public string? Version { get; set; }
        public string? PluginDownloadURL { get; set; }
    }

    public class InvokeOutputOptions : InvokeOptions
    {
        public InputList<Resource> DependsOn { get; set; } = null!;
    }

    public sealed class RegisterPackageRequest
    {
        public sealed class PackageParameterization
        {
            public PackageParameterization(string name, string version, byte[] value) { }
        }

        public RegisterPackageRequest(string name, string version, string? downloadUrl, Dictionary<string, byte[]>? checksums, PackageParameterization? parameterization) { }
        public RegisterPackageRequest(string name, string version, string? downloadUrl, Dictionary<string, byte[]>? checksums = null, PackageParameterization? parameterization = null, PackageParameterization? extension = null) { }
    }

    public sealed class Deployment
    {
        private Deployment() { }
        public static DeploymentInstance Instance => throw null!;
    }

    public sealed class DeploymentInstance
    {
        internal DeploymentInstance() { }
        public Output<T> Invoke<T>(string token, InvokeArgs args, InvokeOptions? options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Output<T> Invoke<T>(string token, InvokeArgs args, InvokeOutputOptions options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Output<T> Invoke<T>(string token, InvokeArgs args, InvokeOptions? options = null) => throw null!;
        public Output<T> Invoke<T>(string token, InvokeArgs args, InvokeOutputOptions options) => throw null!;
        public Output<T> InvokeSingle<T>(string token, InvokeArgs args, InvokeOptions? options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Output<T> InvokeSingle<T>(string token, InvokeArgs args, InvokeOutputOptions options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Output<T> InvokeSingle<T>(string token, InvokeArgs args, InvokeOptions? options = null) => throw null!;
        public Output<T> InvokeSingle<T>(string token, InvokeArgs args, InvokeOutputOptions options) => throw null!;
        public Task<T> InvokeAsync<T>(string token, InvokeArgs args, InvokeOptions? options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Task<T> InvokeAsync<T>(string token, InvokeArgs args, InvokeOptions? options = null) => throw null!;
        public Task<T> InvokeSingleAsync<T>(string token, InvokeArgs args, InvokeOptions? options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Task<T> InvokeSingleAsync<T>(string token, InvokeArgs args, InvokeOptions? options = null) => throw null!;
        public Task InvokeAsync(string token, InvokeArgs args, InvokeOptions? options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Task InvokeAsync(string token, InvokeArgs args, InvokeOptions? options = null) => throw null!;
        public Output<T> Call<T>(string token, CallArgs args, Resource? self, CallOptions? options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public Output<T> Call<T>(string token, CallArgs args, Resource? self = null, CallOptions? options = null) => throw null!;
        public void Call(string token, CallArgs args, Resource? self, CallOptions? options, RegisterPackageRequest? registerPackageRequest) => throw null!;
        public void Call(string token, CallArgs args, Resource? self = null, CallOptions? options = null) => throw null!;
    }

    public sealed class Config
    {
        public Config(string? name = null) { }
        public string? Get(string key) => throw null!;
        public bool? GetBoolean(string key) => throw null!;
        public int? GetInt32(string key) => throw null!;
        public double? GetDouble(string key) => throw null!;
        [return: System.Diagnostics.CodeAnalysis.MaybeNull]
        public T GetObject<T>(string key) => throw null!;
    }

    [AttributeUsage(AttributeTargets.Property)]
    public sealed class OutputAttribute : Attribute
    {
        public OutputAttribute(string? name = null) { }
    }

    [AttributeUsage(AttributeTargets.Field | AttributeTargets.Property)]
    public sealed class InputAttribute : Attribute
    {
        public InputAttribute(string name, bool required = false, bool json = false) { }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public sealed class OutputTypeAttribute : Attribute
    {
    }

    [AttributeUsage(AttributeTargets.Constructor)]
    public sealed class OutputConstructorAttribute : Attribute
    {
    }

    [AttributeUsage(AttributeTargets.Struct)]
    public sealed class EnumTypeAttribute : Attribute
    {
    }

    [AttributeUsage(AttributeTargets.Class)]
    public class ResourceTypeAttribute : Attribute
    {
        public ResourceTypeAttribute(string type, string? version) { }
    }
}

// Every generated file imports it.
namespace Pulumi.Serialization
{
    internal sealed class Converter
    {
    }
}
