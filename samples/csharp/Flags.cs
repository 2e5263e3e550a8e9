using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;

/// <summary>
/// The flags of a program: meaning, usual values, and the values of this run. A wrong flag ends the program.
/// </summary>
sealed class Flags {
  enum Kind { Text, Choice, Whole, Real, Switch }

  sealed class Flag {
    internal string Name, Usual, Help;
    internal Kind Kind;
    internal string[] Choices;
    internal long Least;
  }

  readonly List<Flag> known = new List<Flag>();
  readonly Dictionary<string, string> given = new Dictionary<string, string>();
  readonly string summary;

  internal Flags(string summary) { this.summary = summary; }

  internal void AddText(string name, string usual, string help) {
    known.Add(new Flag {Name = name, Kind = Kind.Text, Usual = usual, Help = help});
  }

  /// <summary>The first choice is the usual one.</summary>
  internal void AddChoice(string name, string[] choices, string help) {
    known.Add(new Flag {Name = name, Kind = Kind.Choice, Choices = choices, Usual = choices[0],
                        Help = help + ": " + string.Join(", ", choices)});
  }

  /// <summary>Without a usual value the flag may be absent.</summary>
  internal void AddWhole(string name, long least, string usual, string help) {
    known.Add(new Flag {Name = name, Kind = Kind.Whole, Least = least, Usual = usual, Help = help});
  }

  internal void AddReal(string name, string usual, string help) {
    known.Add(new Flag {Name = name, Kind = Kind.Real, Usual = usual, Help = help});
  }

  internal void AddSwitch(string name, string help) {
    known.Add(new Flag {Name = name, Kind = Kind.Switch, Help = help});
  }

  internal void Parse(string[] arguments) {
    for (int i = 0; i < arguments.Length; ++i) {
      if (arguments[i] == "--help") Help();
      var flag = known.Find(one => one.Name == arguments[i]);
      if (flag == null) throw Refuse(arguments[i] + ": no such flag; --help tells all");
      bool hasValue = flag.Kind != Kind.Switch;
      if (hasValue && i + 1 == arguments.Length) throw Refuse(arguments[i] + ": needs a value");
      given[flag.Name] = hasValue ? Checked(flag, arguments[++i]) : "";
    }
  }

  static string Checked(Flag flag, string value) {
    bool isRight = true;
    if (flag.Kind == Kind.Choice) isRight = flag.Choices.Contains(value);
    if (flag.Kind == Kind.Whole) {
      isRight = long.TryParse(value, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long whole) &&
                whole >= flag.Least;
    }
    if (flag.Kind == Kind.Real) {
      isRight = double.TryParse(value, NumberStyles.Float, CultureInfo.InvariantCulture, out double real) &&
                !double.IsNaN(real) && !double.IsInfinity(real);
    }
    if (!isRight) throw Refuse(flag.Name + " " + value + ": expected " + Expected(flag));
    return value;
  }

  static string Expected(Flag flag) {
    if (flag.Kind == Kind.Choice) return string.Join(", ", flag.Choices);
    return flag.Kind == Kind.Real ? "a number" : "a whole number of at least " + flag.Least;
  }

  void Help() {
    Console.WriteLine(summary);
    foreach (var flag in known) {
      Console.WriteLine("  {0,-20} {1}{2}", flag.Name, flag.Help, flag.Usual == null ? "" : " (" + flag.Usual + ")");
    }
    Environment.Exit(0);
  }

  /// <summary>Prints a message and ends the program.</summary>
  internal static Exception Refuse(string message) {
    Console.Error.WriteLine(message);
    Environment.Exit(2);
    return new InvalidOperationException(message);
  }

  internal bool Has(string name) { return given.ContainsKey(name); }

  internal string Text(string name) {
    return given.TryGetValue(name, out string value) ? value : known.Find(one => one.Name == name).Usual;
  }

  internal long Whole(string name) { return long.Parse(Text(name), CultureInfo.InvariantCulture); }

  internal double Real(string name) { return double.Parse(Text(name), CultureInfo.InvariantCulture); }
}
