# Installs isthmus @VERSION@ for this user of Windows, and its plugin for the Pulumi CLI:
#
#   irm @URL@/install.ps1 | iex
#   & ([scriptblock]::Create((irm @URL@/install.ps1))) [-Directory DIRECTORY] [-NoPlugin]
#
#   -Directory DIRECTORY   where `isthmus.exe` goes (default: %LOCALAPPDATA%\Programs\isthmus)
#   -NoPlugin              installs the command line alone, without `isthmus install --plugin`
#
# It changes nothing before the signature of the checksums and the checksum of the archive are right, and replaces no file but an
# isthmus. It runs in Windows PowerShell 5.1 and newer.
param([string]$Directory = "", [switch]$NoPlugin)

# A function, so that a script that arrives in part does nothing.
function Install-Isthmus([string]$Directory, [bool]$NoPlugin) {
    $ErrorActionPreference = 'Stop'
    # Windows PowerShell spends most of a download's time on its display.
    $ProgressPreference = 'SilentlyContinue'
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

    $url = '@URL@'
    $version = '@VERSION@'
    $key = '@KEY@'
    # Windows for ARM runs programs for amd64 as well.
    $isArm = $env:PROCESSOR_ARCHITECTURE -eq 'ARM64' -or $env:PROCESSOR_ARCHITEW6432 -eq 'ARM64'
    $target = if ($isArm -and ('@TARGETS@' -split ' ') -contains 'windows-arm64') { 'windows-arm64' } else { 'windows-amd64' }
    $archive = "isthmus-$version-$target.zip"

    if (-not $Directory) {
        $Directory = Join-Path $env:LOCALAPPDATA 'Programs\isthmus'
    }
    $keygen = Get-Command ssh-keygen.exe -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
    if (-not $keygen) {
        throw 'ssh-keygen is not on PATH, so the release cannot be verified: install the feature "OpenSSH Client" of Windows'
    }
    $Directory = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Directory)
    $program = Join-Path $Directory 'isthmus.exe'
    Assert-IsthmusOrNothing $program

    $scratch = Join-Path ([IO.Path]::GetTempPath()) ('isthmus-install-' + [IO.Path]::GetRandomFileName())
    [void](New-Item -ItemType Directory -Path $scratch)
    $beside = $null
    try {
        foreach ($file in 'SHA256SUMS', 'SHA256SUMS.sig', $archive) {
            Invoke-WebRequest -UseBasicParsing -Uri "$url/$file" -OutFile (Join-Path $scratch $file)
        }
        $sums = Join-Path $scratch 'SHA256SUMS'
        $signers = Join-Path $scratch 'allowed_signers'
        $log = Join-Path $scratch 'log'
        [IO.File]::WriteAllText($signers, "releases@isthmus $key`n")
        # A pipe of PowerShell would change the bytes.
        $verify = @('-Y', 'verify', '-f', "`"$signers`"", '-I', 'releases@isthmus', '-n', 'isthmus-release', '-s', "`"$sums.sig`"")
        $process = Start-Process -FilePath $keygen.Source -ArgumentList $verify -RedirectStandardInput $sums `
            -RedirectStandardOutput $log -RedirectStandardError "$log.errors" -NoNewWindow -Wait -PassThru
        if ($process.ExitCode -ne 0) {
            $said = [IO.File]::ReadAllText($log) + [IO.File]::ReadAllText("$log.errors")
            throw "the signature of $url/SHA256SUMS is not valid: $said"
        }
        $expected = foreach ($line in [IO.File]::ReadAllLines($sums)) {
            $sum, $name = $line -split '  ', 2
            if ($name -ceq $archive) { $sum }
        }
        if (-not $expected) {
            throw "$url/SHA256SUMS has no checksum of $archive"
        }
        $found = (Get-FileHash -Algorithm SHA256 -LiteralPath (Join-Path $scratch $archive)).Hash
        if ($found -ne $expected) {
            throw "$url/$archive has the checksum $found, not $expected"
        }

        $files = Join-Path $scratch 'files'
        Expand-Archive -LiteralPath (Join-Path $scratch $archive) -DestinationPath $files
        $unpacked = Join-Path $files 'isthmus.exe'
        $found = & $unpacked --version
        if ($LASTEXITCODE -ne 0 -or $found -ne "isthmus $version") {
            throw "the program in $archive is not isthmus ${version}: $found"
        }
        [void](New-Item -ItemType Directory -Force -Path $Directory)
        Assert-IsthmusOrNothing $program
        # Beside the place of the program, to which it is renamed when it is whole.
        $beside = Join-Path $Directory ('.isthmus-install-' + [IO.Path]::GetRandomFileName())
        Copy-Item -LiteralPath $unpacked -Destination $beside
        try {
            Move-Item -Force -LiteralPath $beside -Destination $program
        } catch {
            throw "$program cannot be replaced ($_): end the programs that it runs in, such as isthmus daemon, and run this again"
        }
    } finally {
        foreach ($left in $beside, $scratch) {
            if ($left -and (Test-Path -LiteralPath $left)) { Remove-Item -Recurse -Force -LiteralPath $left }
        }
    }
    Write-Output "installed $program"

    if (-not $NoPlugin) {
        & $program install --plugin
        if ($LASTEXITCODE -ne 0) {
            throw "the plugin is not installed (see above): run $program install --plugin"
        }
    }
    if (($env:Path -split ';') -notcontains $Directory) {
        Write-Output "note: $Directory is not in Path"
    }
}

# Fails unless a file may be replaced: there is none, or it is an isthmus.
function Assert-IsthmusOrNothing([string]$Path) {
    $item = Get-Item -Force -LiteralPath $Path -ErrorAction SilentlyContinue
    if (-not $item) {
        return
    }
    $isLinkOrDirectory = $item.Attributes -band ([IO.FileAttributes]::ReparsePoint -bor [IO.FileAttributes]::Directory)
    if ($isLinkOrDirectory -or -not (Select-String -Quiet -SimpleMatch 'isthmus created this directory for' -LiteralPath $Path)) {
        throw "$Path is not isthmus, so nothing was changed: name another directory by -Directory"
    }
}

# In braces, so that no beginning of this line is a command.
& { Install-Isthmus $Directory $NoPlugin.IsPresent }
