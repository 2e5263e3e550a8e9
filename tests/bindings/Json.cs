using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

/// <summary>
/// Reads JSON as dictionaries, lists, strings, booleans, and numbers: a long, or a double if there is a point or an
/// exponent.
/// </summary>
sealed class Json {
  readonly string text;
  int at;

  Json(string text) { this.text = text; }

  internal static object Parse(string text) { return new Json(text).Value(); }

  char Next() {
    while (char.IsWhiteSpace(text[at])) ++at;
    return text[at];
  }

  bool Skip(char wanted) {
    if (Next() != wanted) return false;
    ++at;
    return true;
  }

  object Value() {
    char first = Next();
    if (first == '{') return Object();
    if (first == '[') return Array();
    if (first == '"') return String();
    int begin = at;
    while (at < text.Length && ",]} \n".IndexOf(text[at]) < 0) ++at;
    string word = text.Substring(begin, at - begin);
    if (word == "null") return null;
    if (word == "true" || word == "false") return word == "true";
    bool isWhole = word.All(letter => char.IsDigit(letter) || letter == '-');
    if (isWhole) return long.Parse(word, CultureInfo.InvariantCulture);
    // Mono reads -0.0 as 0.
    double size = double.Parse(word.TrimStart('-'), CultureInfo.InvariantCulture);
    return word[0] == '-' ? -size : size;
  }

  Dictionary<string, object> Object() {
    var found = new Dictionary<string, object>();
    ++at;
    while (!Skip('}')) {
      Skip(',');
      Next();
      string name = String();
      Skip(':');
      found[name] = Value();
    }
    return found;
  }

  List<object> Array() {
    var found = new List<object>();
    ++at;
    while (!Skip(']')) {
      Skip(',');
      found.Add(Value());
    }
    return found;
  }

  string String() {
    var made = new StringBuilder();
    for (++at; text[at] != '"'; ++at) {
      if (text[at] != '\\') {
        made.Append(text[at]);
        continue;
      }
      char escaped = text[++at];
      if (escaped == 'u') {
        made.Append((char)Convert.ToInt32(text.Substring(at + 1, 4), 16));
        at += 4;
      } else {
        made.Append(escaped == 'n' ? '\n' : escaped);
      }
    }
    ++at;
    return made.ToString();
  }
}
